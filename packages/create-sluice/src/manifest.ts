import type { ManualEdit } from "./edits.js";

type Texts = Readonly<Record<string, string>>;

/** The fields of a package.json that this package reads. */
export interface Manifest {
  readonly name?: string;
  readonly type?: string;
  readonly workspaces?: unknown;
  readonly scripts?: Texts;
  readonly dependencies?: Texts;
  readonly devDependencies?: Texts;
}

/** Adds our entries to an app's manifest. Also returns the scripts that the user must edit. */
export function mergeManifests(
  ours: Manifest,
  theirs: Manifest,
): { manifest: Manifest; manualEdits: readonly ManualEdit[] } {
  const installed = { ...theirs.devDependencies, ...theirs.dependencies };
  const omitPresent = (list: Texts = {}) =>
    Object.fromEntries(Object.entries(list).filter(([name]) => !(name in installed)));
  const { scripts, manualEdits } = mergeScripts(
    adaptScripts(theirs, ours.scripts ?? {}),
    theirs.scripts ?? {},
  );
  const manifest = {
    ...theirs,
    scripts,
    dependencies: sort({ ...theirs.dependencies, ...omitPresent(ours.dependencies) }),
    devDependencies: sort({ ...theirs.devDependencies, ...omitPresent(ours.devDependencies) }),
  };
  return { manifest, manualEdits };
}

/** Scripts that become `sluice:<name>` if the app has a script with this name. */
const RENAMED_SCRIPTS = ["deploy", "invite", "check:deploy"];

/** Returns our scripts for an app. In an app without `"type": "module"`, they silence Node's warning about it. */
function adaptScripts({ type }: Manifest, ours: Texts): Texts {
  if (type === "module") return ours;
  const node = "node --disable-warning=MODULE_TYPELESS_PACKAGE_JSON ";
  const entries = Object.entries(ours).map(([name, line]) => [
    name,
    line.replace(/^node (?=.*scripts\/)/, node),
  ]);
  return Object.fromEntries(entries);
}

function mergeScripts(ours: Texts, theirs: Texts): { scripts: Texts; manualEdits: readonly ManualEdit[] } {
  const { dev } = theirs;
  const isEmulated = dev?.includes("sluice-emulator");
  // `dev` starts the emulator, and `dev:gateway` is the app's own `dev`
  const withGateway = isEmulated ? (ours["dev:gateway"] ?? dev) : dev;
  const scripts: Record<string, string> = {
    ...ours,
    ...(withGateway !== undefined && { "dev:gateway": withGateway }),
    ...theirs,
  };
  const manualEdits: ManualEdit[] = [];
  if (dev !== undefined && !isEmulated) {
    // the rest of a shell chain would run without the emulator
    if (/[&|;<>]/.test(dev))
      manualEdits.push(createScriptEdit("dev", "sluice-emulator -- <what starts the server>"));
    else scripts["dev"] = `sluice-emulator -- ${dev}`;
  }
  for (const [name, line] of Object.entries(ours))
    if (RENAMED_SCRIPTS.includes(name) && scripts[name] !== line) scripts[`sluice:${name}`] = line;
  return { scripts, manualEdits };
}

function createScriptEdit(name: string, line: string): ManualEdit {
  return { file: "package.json", edit: `"scripts": { "${name}": ${JSON.stringify(line)} }` };
}

function sort(list: Texts): Texts {
  return Object.fromEntries(Object.entries(list).sort(([a], [b]) => (a < b ? -1 : 1)));
}
