import type { VideoModel } from "@sluice/core";
import type { VideoTaskEntry } from "@sluice/react";
import { atom } from "nanostores";
import { createCollection, forgetOld, hasTexts } from "../media/collection.js";
import { pictureAt } from "../media/files.js";
import { type MediaDraft, urlsOf } from "../media/use-media-form.js";

/** A form that was sent. The library keeps the task; the form has what a card shows beside it. */
export interface Order {
  readonly id: string;
  /** Unix milliseconds. */
  readonly at: number;
  readonly label: string;
  readonly draft: MediaDraft<VideoModel>;
}

/** The forms of all videos of this browser. */
export const orders = createCollection("video-orders", isOrder);

/** Keys of videos that were deleted a moment ago: "Undo" brings them back. */
export const deleted = atom<ReadonlySet<string>>(new Set());

/** Keeps a form before it is sent. */
export function keepOrder(label: string, draft: MediaDraft<VideoModel>): void {
  forgetOld(orders);
  orders.put({ id: crypto.randomUUID(), at: Date.now(), label, draft });
}

/** Finds the form of a task: the last one of its name and model that was sent before it. */
export function orderOf(entry: VideoTaskEntry, known: readonly Order[]): Order | undefined {
  return known.find(
    ({ at, label, draft }) => label === entry.label && draft.model === entry.model && at <= entry.submittedAt,
  );
}

/** The picture that the video begins with, or one that it refers to. */
export function posterOf(order: Order | undefined): string | undefined {
  if (!order) return undefined;
  const { values } = order.draft;
  const [first] = [...urlsOf(values, "first_frame"), ...urlsOf(values, "reference_image")];
  return first && pictureAt(first);
}

function isOrder(kept: unknown): kept is Order {
  if (!hasTexts(kept, "label")) return false;
  const { draft } = kept;
  return typeof draft === "object" && draft !== null && "values" in draft && "model" in draft;
}
