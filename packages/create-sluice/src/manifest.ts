import type { ByHand } from "./edits.js";

type Texts = Readonly<Record<string, string>>;

/** The part of a package.json that this package reads. */
export interface Manifest {
  readonly name?: string;
  readonly type?: string;
  readonly workspaces?: unknown;
  readonly scripts?: Texts;
  readonly dependencies?: Texts;
  readonly devDependencies?: Texts;
}

/** Returns an app's manifest with what it lacks of ours, and the scripts that its user has to see to. */
export function merged(ours: Manifest, theirs: Manifest): { manifest: Manifest; byHand: readonly ByHand[] } {
  const has = { ...theirs.devDependencies, ...theirs.dependencies };
  const lacking = (list: Texts = {}) =>
    Object.fromEntries(Object.entries(list).filter(([name]) => !(name in has)));
  const { scripts, byHand } = scriptsOf(scriptsFor(theirs, ours.scripts ?? {}), theirs.scripts ?? {});
  const manifest = {
    ...theirs,
    scripts,
    dependencies: sorted({ ...theirs.dependencies, ...lacking(ours.dependencies) }),
    devDependencies: sorted({ ...theirs.devDependencies, ...lacking(ours.devDependencies) }),
  };
  return { manifest, byHand };
}

/** Scripts that get another name where an app has one of theirs. */
const OWN = ["deploy", "invite", "check:deploy"];

/** Returns our scripts for an app: Node warns of modules in one whose manifest does not say that it has them. */
function scriptsFor({ type }: Manifest, ours: Texts): Texts {
  if (type === "module") return ours;
  const node = "node --disable-warning=MODULE_TYPELESS_PACKAGE_JSON ";
  const entries = Object.entries(ours).map(([name, line]) => [
    name,
    line.replace(/^node (?=.*scripts\/)/, node),
  ]);
  return Object.fromEntries(entries);
}

function scriptsOf(ours: Texts, theirs: Texts): { scripts: Texts; byHand: readonly ByHand[] } {
  const { dev } = theirs;
  const isEmulated = dev?.includes("sluice-emulator");
  const usual = dev === undefined ? {} : { "dev:gateway": isEmulated ? (ours["dev:gateway"] ?? dev) : dev };
  const scripts: Record<string, string> = { ...ours, ...usual, ...theirs };
  const byHand: ByHand[] = [];
  if (dev !== undefined && !isEmulated) {
    // the rest of a chain would run without the emulator
    if (/[&|;<>]/.test(dev)) byHand.push(script("dev", "sluice-emulator -- <what starts the server>"));
    else scripts["dev"] = `sluice-emulator -- ${dev}`;
  }
  for (const [name, line] of Object.entries(ours))
    if (OWN.includes(name) && scripts[name] !== line) scripts[`sluice:${name}`] = line;
  return { scripts, byHand };
}

function script(name: string, line: string): ByHand {
  return { file: "package.json", edit: `"scripts": { "${name}": ${JSON.stringify(line)} }` };
}

function sorted(list: Texts): Texts {
  return Object.fromEntries(Object.entries(list).sort(([a], [b]) => (a < b ? -1 : 1)));
}
