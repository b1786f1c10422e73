/** Styles of the shadow root. Styles of the page have no effect, except inherited ones. */
export const styles = `
:host {
  all: initial;
  direction: ltr; /* its words are English, also in a right-to-left page */
  color-scheme: light dark;
  --ink: light-dark(#1b1b1f, #ececf1); --muted: light-dark(#5c5c66, #a5a5b2);
  --ground: light-dark(#fff, #17171b); --raised: light-dark(#f3f3f6, #232329); --edge: light-dark(#d5d5dd, #3c3c46);
  --accent: light-dark(#3a4fd0, #9fadff); --good: light-dark(#11703a, #63d08e); --bad: light-dark(#b3201f, #ff8b85);
}
* { box-sizing: border-box; font: 13px/1.45 system-ui, sans-serif; color: inherit; }
code, pre, td:nth-child(-n+2) { font-family: ui-monospace, monospace; font-size: 12px; }
strong, th, h2 { font-weight: 600; }
.toggle, .panel { position: fixed; z-index: 2147483000; color: var(--ink); background: var(--ground); border: 1px solid var(--edge); }
.toggle { right: 12px; bottom: 12px; padding: 6px 12px; border-radius: 16px; box-shadow: 0 2px 8px #0003; }
.count { margin-left: 8px; color: var(--accent); }
.toggle[aria-expanded="true"] { display: none; }
.panel { inset: 0 0 0 auto; width: min(480px, 45vw); display: flex; flex-direction: column; border-width: 0 0 0 1px; }
header { display: flex; gap: 8px; padding: 4px 8px; border-bottom: 1px solid var(--edge); background: var(--raised); }
[role="tablist"] { display: flex; flex: 1; min-width: 0; overflow-x: auto; }
button { padding: 4px 10px; border: 1px solid var(--edge); border-radius: 6px; background: var(--ground); cursor: pointer; white-space: nowrap; }
button:hover { border-color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: -2px; }
[role="tab"] { border-color: transparent; background: none; border-radius: 0; }
[role="tab"][aria-selected="true"] { color: var(--accent); border-bottom: 2px solid var(--accent); }
[aria-pressed="true"] { color: var(--ground); background: var(--accent); border-color: var(--accent); }
.view { flex: 1; min-height: 0; overflow: auto; padding: 8px 12px; }
ol, ul { list-style: none; margin: 0; padding: 0; }
p, h2 { margin: 6px 0; }
.head { display: flex; align-items: center; border-bottom: 1px solid var(--edge); }
.row { display: flex; flex-wrap: wrap; gap: 2px 12px; flex: 1; text-align: left; border: 0; border-radius: 0; background: none; white-space: normal; }
.row:hover, .row[aria-expanded="true"] { background: var(--raised); }
.grow { flex: 1 1 12em; min-width: 0; overflow-wrap: anywhere; }
.muted { color: var(--muted); }
.outcome { color: var(--accent); } .good { color: var(--good); } .bad { color: var(--bad); }
.warning { color: var(--bad); }
.body { padding: 8px 10px; border-bottom: 1px solid var(--edge); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 12px; margin: 0 0 6px; }
dt { color: var(--muted); }
dd { margin: 0; overflow-wrap: anywhere; }
pre { margin: 4px 0; padding: 8px; max-height: 16em; overflow: auto; white-space: pre-wrap; overflow-wrap: anywhere; background: var(--raised); }
table { border-collapse: collapse; } caption { text-align: left; white-space: nowrap; color: var(--muted); }
td, th { padding: 2px 14px 2px 0; text-align: left; vertical-align: top; overflow-wrap: anywhere; }
fieldset, figure { border: 0; margin: 0; padding: 0; }
.buttons { display: flex; flex-wrap: wrap; align-items: center; gap: 6px; }
/* forced colors remove the background and the color that mark the selected item */
@media (forced-colors: active) {
  [aria-selected="true"], [aria-pressed="true"], [aria-expanded="true"] { outline: 2px solid Highlight; outline-offset: -2px; }
}
@media (max-width: 800px) { .panel { inset: auto 0 0 0; width: auto; height: 60vh; border-width: 1px 0 0; } }
:host([docked]) { display: block; height: 100%; color-scheme: inherit; }
:host([docked]) .panel { position: static; width: auto; height: 100%; border: 0; }
`;
