import type { Plugin } from "vite";

/** Languages whose code is coloured; code in others is plain. Shiki has 240 of them, most of which nobody asks a model for. */
const languages =
  `c cpp csharp css dart diff docker elixir go graphql haskell hcl html http ini java javascript json jsonc jsx kotlin
  latex lua make markdown nginx perl php powershell python r ruby rust scala scss shellscript shellsession sql swift toml
  tsx typescript vue xml yaml zig`.split(/\s+/);
/** The themes of `highlight-worker.ts` of the registry. */
const themes = ["github-light-default", "github-dark-default"];
/** Mermaid's diagrams that are drawn; others are shown as their code. */
const diagrams =
  /^(?:flow|sequence|class|state|er|gantt|gitGraph|pie|journey|quadrant|xychart|timeline|mindmap|chunk|dagre|cose)/;

/** Each library's own dynamic imports: the file that has them, their names, and those that stay. */
const choices: readonly {
  readonly importer: RegExp;
  readonly source: RegExp;
  readonly stays: (name: string) => boolean;
}[] = [
  // a grammar that another one needs is imported by it, and stays
  {
    importer: /langs-bundle/,
    source: /^@shikijs\/langs\/(.+)$/,
    stays: (name) => languages.includes(name),
  },
  { importer: /shiki/, source: /^@shikijs\/themes\/(.+)$/, stays: (name) => themes.includes(name) },
  // the studio's engine of regular expressions is the browser's own
  { importer: /shiki/, source: /^shiki\/(wasm)$/, stays: () => false },
  { importer: /mermaid/, source: /^\.\/chunks\/mermaid[\w.-]+\/(.+)$/, stays: (name) => diagrams.test(name) },
  { importer: /mermaid/, source: /^\.\/(swimlanes)-/, stays: () => false },
];

/** Stands for all that is left out: a list without grammars, and no diagram. */
const NOTHING = "\0nothing";

/** Fonts for browsers that are older than the page. Those that stay are WOFF2. */
const OLD_FONTS = /,\s*url\([^)]*\.(?:woff|ttf)\)\s*format\(["']?(?:woff|truetype)["']?\)/g;

/** Leaves out what libraries could load and the studio does not: grammars, themes, diagrams and old fonts. */
export function leaveOut(): Plugin {
  return {
    name: "leave-out",
    apply: "build",
    enforce: "pre",
    resolveId: (source, importer = "") => (isLeftOut(source, importer) ? NOTHING : null),
    load: (id) => (id === NOTHING ? "export default []; export const diagram = undefined;" : null),
    transform: (code, id) => (/katex.*\.css$/.test(id) ? code.replace(OLD_FONTS, "") : null),
  };
}

function isLeftOut(source: string, importer: string): boolean {
  return choices.some((choice) => {
    const [, name] = (choice.importer.test(importer) && choice.source.exec(source)) || [];
    return name !== undefined && !choice.stays(name);
  });
}
