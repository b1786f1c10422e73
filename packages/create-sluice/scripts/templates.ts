import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Template, templates } from "../src/templates.ts";

/*
 * Builds the templates into `dist/templates/<name>`. Workspace versions become registry versions. Templates share
 * folders, so that each file exists once.
 */

type Versions = Readonly<Record<string, string>>;

const root = join(import.meta.dirname, "../../..");
const sources = join(import.meta.dirname, "../templates");
const out = join(import.meta.dirname, "../dist/templates");

const read = (path: string) => readFileSync(join(root, path), "utf8");
const { version } = JSON.parse(read("packages/core/package.json"));
const catalog = new Map(
  [...read("pnpm-workspace.yaml").matchAll(/^ {2}"?([^":\n]+)"?: "?([^"#\n]+?)"?(?: #.*)?$/gm)].map(
    ([, name = "", range = ""]) => [name, range],
  ),
);

rmSync(out, { recursive: true, force: true });
for (const [name, template] of Object.entries(templates)) build(name, template);

function build(name: string, template: Template): void {
  const folder = join(out, name);
  for (const [part, to] of template.parts) {
    mkdirSync(join(folder, to), { recursive: true });
    cpSync(join(sources, part), join(folder, to), { recursive: true });
  }
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  for (const list of ["dependencies", "devDependencies"]) manifest[list] = toPublished(manifest[list]);
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`);
  writeFileSync(join(folder, "README.md"), writeReadme(name, template));
}

/** Replaces ranges of the workspace by ranges of the registry. */
function toPublished(list: Versions): Versions {
  const entries = Object.entries(list).map(([name, specifier]) => {
    if (specifier.startsWith("workspace:")) return [name, `^${version}`];
    const range = specifier === "catalog:" ? catalog.get(name) : specifier;
    if (range === undefined) throw new Error(`${name} is not in the catalog`);
    return [name, /^\d/.test(range) ? `^${range}` : range];
  });
  return Object.fromEntries(entries);
}

/** Writes the README of a template. The command inserts the app's name. */
function writeReadme(
  template: string,
  { title, open, files, deploy, page, settings = {} }: Template,
): string {
  const moreFile = join(sources, "readme", `${template}.md`);
  const slots: Readonly<Record<string, string>> = {
    name: "sluice-app",
    title,
    open,
    files: Object.entries(files)
      .map(([file, purpose]) => `| \`${file}\` | ${purpose} |`)
      .join("\n"),
    deploy: deploy.map((step, index) => `${index + 2}. ${step}`).join("\n"),
    page,
    settings: Object.entries(settings)
      .map(([setting, meaning]) => `| \`${setting}\` | ${meaning}; may be missing |`)
      .join("\n"),
    more: existsSync(moreFile) ? readFileSync(moreFile, "utf8") : "",
  };
  // a slot on its own line stands for a row or an item, as a formatter would write it
  const SLOT = /^[ |]*\{\{(\w+)\}\}[ |]*$|\{\{(\w+)\}\}/gm;
  return readFileSync(join(sources, "README.md"), "utf8").replace(SLOT, (_, line, within) => {
    const text = slots[line ?? within];
    if (text === undefined) throw new Error(`the README has no text for ${line ?? within}`);
    return text;
  });
}
