import { useStore } from "@nanostores/react";
import type { Fault } from "@sluice/devtools/production";
import { atom, type WritableAtom } from "nanostores";
import { useEffect } from "react";

declare global {
  interface ImportMetaEnv {
    /** URL of the proxy, if another server than the page's own responds. */
    readonly VITE_GATEWAY?: string;
    /** URL of the docs. */
    readonly VITE_DOCS?: string;
    /** URL of the repository. The build sets it. */
    readonly VITE_SOURCE?: string;
  }
}

/** True if the page is built as static files: its server is a Service Worker of this browser. */
export const isHosted = import.meta.env.MODE === "hosted";

/** True while the browser is offline and the server does not respond. A server on this machine responds. */
export const isOffline = atom(false);

/** Creates a value that the browser stores between visits. `isValid` checks a stored value. */
export function storedAtom<State>(
  key: string,
  initial: State,
  isValid: (stored: unknown) => stored is State,
): WritableAtom<State> {
  const value = atom(read());
  value.listen((state) => {
    try {
      if (state === initial) localStorage.removeItem(key);
      else localStorage.setItem(key, JSON.stringify(state));
    } catch {
      // private windows and full disks: the value lasts as long as the page
    }
  });
  return value;

  function read(): State {
    try {
      const stored: unknown = JSON.parse(localStorage.getItem(key) ?? "null");
      return isValid(stored) ? stored : initial;
    } catch {
      return initial;
    }
  }
}

const themes = ["system", "light", "dark"] as const;
type Theme = (typeof themes)[number];

/** The chosen theme. `public/boot.js` applies it before the first paint of the next visit. */
export const theme = storedAtom("sluice-theme", "system", (stored): stored is Theme =>
  themes.some((known) => known === stored),
);

const darkSystem = matchMedia("(prefers-color-scheme: dark)");

function applyTheme(): void {
  const chosen = theme.get();
  const isDark = chosen === "dark" || (chosen === "system" && darkSystem.matches);
  document.documentElement.classList.toggle("dark", isDark);
}

theme.listen(applyTheme);
darkSystem.addEventListener("change", applyTheme);

/** Chooses the next theme: system, light, dark. */
export function chooseNextTheme(): void {
  theme.set(themes[(themes.indexOf(theme.get()) + 1) % themes.length] ?? "system");
}

/** Finds out if the inspector is beside the room. On a small screen it covers the room. */
export const isWide = () => matchMedia("(width >= 72rem)").matches;

/** True while the inspector is open. On a small screen it is closed at first. */
export const isInspectorOpen = storedAtom(
  "sluice-inspector",
  isWide(),
  (stored): stored is boolean => typeof stored === "boolean",
);

/** Tabs of the inspector. */
export const inspectorTabs = ["Code", "Calls", "Receipts"] as const;
type InspectorTab = (typeof inspectorTabs)[number];
export const inspectorTab = atom<InspectorTab>("Code");

/** Opens the inspector with a tab. */
export function showTab(tab: InspectorTab): void {
  inspectorTab.set(tab);
  isInspectorOpen.set(true);
}

/** Opens or closes the inspector. */
export function toggleInspector(): void {
  isInspectorOpen.set(!isInspectorOpen.get());
}

/** Id of the message that its chat marks, because the user pressed its call. */
export const markedMessage = atom<string | undefined>(undefined);

/** A message whose call the inspector shows. `count` differs for each press. */
export const shownCall = atom<{ readonly messageId: string; readonly count: number } | undefined>(undefined);

/** Opens the inspector with the call of a message. */
export function showCall(messageId: string): void {
  shownCall.set({ messageId, count: (shownCall.get()?.count ?? 0) + 1 });
  showTab("Calls");
}

/** True while the palette is open. */
export const isPaletteOpen = atom(false);

/** Part of the line of the room's code that runs now. */
export const runningCode = atom<string | undefined>(undefined);

/** Marks the line of the room's code that runs now. */
export function useRunningCode(code: string | false | undefined): void {
  useEffect(() => {
    runningCode.set(code || undefined);
    return () => runningCode.set(undefined);
  }, [code]);
}

/** Sets the title of the tab. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Sluice`;
  }, [title]);
}

/** A question of the first screen. The label of its button begins the title of the chat. */
interface Question {
  readonly text: string;
  readonly label?: string;
  readonly fault?: Fault;
}

/** Question that the chat has not sent yet. */
export const pendingQuestion = atom<Question | undefined>(undefined);

/** True from a question of the first screen until its response begins. */
export const isFirstResponseDue = atom(false);

pendingQuestion.listen((question) => question && isFirstResponseDue.set(true));

/** Longest wait for the first response, in milliseconds. The user may have stopped it. */
const LONGEST_WAIT_MS = 10_000;

/** Waits for the first response. On a slow connection, other downloads would delay it. */
export function waitForFirstResponse(): Promise<void> {
  return new Promise((resolve) => {
    if (!isFirstResponseDue.get()) return resolve();
    isFirstResponseDue.listen(() => resolve());
    setTimeout(resolve, LONGEST_WAIT_MS);
  });
}

/** The text in the field of each chat, by its key. The first screen shows it before the chat has loaded. */
const drafts = new Map<string, WritableAtom<string>>();

function openDraft(key: string): WritableAtom<string> {
  const draft =
    drafts.get(key) ??
    storedAtom(`sluice-draft/${key}`, "", (stored): stored is string => typeof stored === "string");
  drafts.set(key, draft);
  return draft;
}

/** Returns the draft of a chat and the function that sets the draft. Omit the id for a new chat. */
export function useChatDraft(id = "new") {
  const text = openDraft(id);
  return {
    draft: useStore(text),
    setDraft: (next: string | ((draft: string) => string)) =>
      text.set(typeof next === "string" ? next : next(text.get())),
    clearDraft: () => text.set(""),
  };
}

/** Selection of a field that left the page with the focus. */
let selection: readonly [start: number, end: number] | undefined;

/**
 * Moves the focus and the selection from a field to the field that replaces it in the same commit. Call it in a layout
 * effect.
 */
export function takeFocus(field: HTMLTextAreaElement | null | undefined): () => void {
  if (selection) {
    field?.focus({ preventScroll: true });
    field?.setSelectionRange(...selection);
    selection = undefined;
  }
  return () => {
    if (!field || document.activeElement !== field) return;
    selection = [field.selectionStart, field.selectionEnd];
    queueMicrotask(() => {
      selection = undefined;
    });
  };
}
