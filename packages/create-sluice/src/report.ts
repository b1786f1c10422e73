import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { formatDiff } from "./diff.js";
import { findManager } from "./manager.js";
import type { AppOptions, Plan } from "./plan.js";
import { templates } from "./templates.js";

/** Shown in place of secrets, which must not reach a terminal. */
const ADDED = "Settings that were missing, at the end.";

/** Describes the changes, or the changes that a trial would make, and the next steps. */
export function formatReport({ folder, template, add }: AppOptions, plan: Plan, isTrial: boolean): string {
  const { changes, unchanged, byHand } = plan;
  const shown = relative(process.cwd(), folder) || ".";
  if (changes.length === 0 && byHand.length === 0)
    return `${shown} has everything already. Nothing was changed.\n`;
  const created = changes.filter(({ before }) => before === undefined).map(({ path }) => path);
  const edited = changes.flatMap(({ path, before, after }) =>
    before === undefined
      ? []
      : [`${path}\n\n${indent(path.startsWith(".env") ? ADDED : formatDiff(before, after))}`],
  );
  const done = isTrial ? "would be" : "were";
  return [
    `${shown}: ${templates[template].title}.`,
    ...formatList(`These files ${done} written:`, created),
    ...(edited.length > 0 ? [`These files ${done} changed:`, ...edited] : []),
    ...formatList("These files differ from those of the template, and stay as they are:", unchanged),
    ...formatByHand(byHand),
    ...(isTrial ? [] : formatNext(shown, folder, add && byHand.length > 0)),
    ...(created.some((path) => /\/(?:chat\/page|routes\/chat)\.tsx$/.test(path))
      ? ["The chat is at /chat."]
      : []),
    "",
  ].join("\n\n");
}

function formatList(title: string, paths: readonly string[]): readonly string[] {
  return paths.length === 0 ? [] : [`${title}\n\n${indent(paths.join("\n"))}`];
}

function formatByHand(byHand: Plan["byHand"]): readonly string[] {
  if (byHand.length === 0) return [];
  const edits = byHand.map(({ file, edit }) => `${file}\n\n${indent(edit)}`);
  return ["TO DO: make these edits yourself. The app does not run without them.", ...edits];
}

function formatNext(shown: string, folder: string, isUnfinished: boolean): readonly string[] {
  const manager = findManager(folder);
  const steps = [...(shown === "." ? [] : [`cd ${shown}`]), `${manager} install`, `${manager} run dev`];
  return [
    `${isUnfinished ? "After the edits" : "Next"}:\n\n${indent(steps.join("\n"))}`,
    `It runs on the gateway's emulator: offline, free of charge, without a key. ${
      existsSync(join(folder, "SLUICE.md")) ? "SLUICE.md" : "README.md"
    } explains the rest, including production.`,
  ];
}

function indent(text: string): string {
  return text.trimEnd().replace(/^(?=.)/gm, "  ");
}
