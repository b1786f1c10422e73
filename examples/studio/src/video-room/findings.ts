import type { Issue } from "@sluice/core";
import { checkVideoRequest } from "@sluice/core/schemas";
import type { MediaKind } from "./offer.js";
import { itemsOf, offerFor, requestOf, type VideoOrder } from "./order.js";

/** What is wrong with a field of the form. */
export type IssuesOf = (field: string) => readonly Issue[];
/** How a form changes its order, by what it was. */
export type ChangeOrder = (change: (order: VideoOrder) => VideoOrder) => void;
/** How a form changes its order, by the fields that are another now. */
export type SetOrder = (change: Partial<VideoOrder>) => void;

/** A broken rule, and the field of the form that it is about; `media` is about all that the video starts from. */
export interface Finding {
  readonly field: "prompt" | "duration" | "seed" | "media" | MediaKind | (string & {});
  readonly issue: Issue;
}

/** What the chosen model would not accept. */
export function findingsOf(order: VideoOrder): readonly Finding[] {
  const items = itemsOf(order, offerFor(order));
  const first = order.prompt.trim() ? 1 : 0;
  return checkVideoRequest(requestOf(order)).issues.map((issue) => {
    const [, place] = /^input\.media\.(\d+)/.exec(issue.path) ?? [];
    const [, contentPlace] = /^content\.(\d+)/.exec(issue.path) ?? [];
    const at = place ? Number(place) : contentPlace ? Number(contentPlace) - first : undefined;
    return { field: fieldOf(issue, at === undefined ? undefined : (items[at]?.kind ?? "prompt")), issue };
  });
}

function fieldOf({ path, rule }: Issue, kind: MediaKind | "prompt" | undefined): Finding["field"] {
  if (kind) return kind;
  if (path === "content") return /text|empty/.test(rule) ? "prompt" : "media";
  return path.split(".").at(-1) ?? path;
}
