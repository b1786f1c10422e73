import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { diffOf } from "./diff.js";
import { managerOf } from "./manager.js";
import type { Plan, Wanted } from "./plan.js";
import { templates } from "./templates.js";

/** Shown for a file with secrets, which no terminal should have. */
const ADDED = "Settings that were missing, at the end.";

/** Says what was done, or would be done in a trial, and what comes next. */
export function reportOf({ folder, template, add }: Wanted, plan: Plan, isTrial: boolean): string {
  const { changes, kept, byHand } = plan;
  const shown = relative(process.cwd(), folder) || ".";
  if (changes.length === 0 && byHand.length === 0)
    return `${shown} has everything already. Nothing was changed.\n`;
  const created = changes.filter(({ before }) => before === undefined).map(({ path }) => path);
  const edited = changes.flatMap(({ path, before, after }) =>
    before === undefined
      ? []
      : [`${path}\n\n${indented(path.startsWith(".env") ? ADDED : diffOf(before, after))}`],
  );
  const done = isTrial ? "would be" : "were";
  return [
    `${shown}: ${templates[template].title}.`,
    ...listed(`These files ${done} written:`, created),
    ...(edited.length > 0 ? [`These files ${done} changed:`, ...edited] : []),
    ...listed("These files differ from those of the template, and stay as they are:", kept),
    ...handOf(byHand),
    ...(isTrial ? [] : nextOf(shown, folder, add && byHand.length > 0)),
    ...(created.some((path) => /\/(?:chat\/page|routes\/chat)\.tsx$/.test(path))
      ? ["The chat is at /chat."]
      : []),
    "",
  ].join("\n\n");
}

function listed(title: string, paths: readonly string[]): readonly string[] {
  return paths.length === 0 ? [] : [`${title}\n\n${indented(paths.join("\n"))}`];
}

function handOf(byHand: Plan["byHand"]): readonly string[] {
  if (byHand.length === 0) return [];
  const edits = byHand.map(({ file, edit }) => `${file}\n\n${indented(edit)}`);
  return ["TO DO: make these edits yourself. The app does not run before.", ...edits];
}

function nextOf(shown: string, folder: string, isUnfinished: boolean): readonly string[] {
  const manager = managerOf(folder);
  const steps = [...(shown === "." ? [] : [`cd ${shown}`]), `${manager} install`, `${manager} run dev`];
  return [
    `${isUnfinished ? "After the edits" : "Next"}:\n\n${indented(steps.join("\n"))}`,
    `It runs on the gateway's emulator: offline, free of charge, without a key. ${
      existsSync(join(folder, "SLUICE.md")) ? "SLUICE.md" : "README.md"
    } has the rest, the way to production too.`,
  ];
}

function indented(text: string): string {
  return text.trimEnd().replace(/^(?=.)/gm, "  ");
}
