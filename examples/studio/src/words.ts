import type { ChatStatus } from "@sluice/react";
import { costText, type ShownCost } from "../../../labs/registry/components/sluice/cost-text.js";
import type { PDFProblem } from "./chat/pdf.js";
import type { Keeping } from "./client.js";

/*
 * Every sentence of the studio that claims something about a state: each is a function of the state that makes it true.
 */

/** Words of a problem: the title says what happened, the hint what to do. */
export interface Words {
  readonly title: string;
  readonly hint: string;
}

/** Says that a request was not sent, as the browser had no network. */
export function unsentWords(state: { readonly isOffline: boolean; readonly isWaiting: boolean }): Words {
  if (!state.isOffline) return { title: "Not sent", hint: "You were offline. Try again." };
  return {
    title: "You are offline",
    hint: state.isWaiting
      ? "This is sent when you are back."
      : "Nothing was sent. Try again when you are back.",
  };
}

/** Says what the whole page can't do, or that it does it for free; undefined where there is nothing to say. */
export function bannerWords(state: {
  readonly isOffline: boolean;
  /** True while an answer that has begun is in flight. */
  readonly isStreaming: boolean;
  /** True where the page was built for the emulator. */
  readonly isDemo: boolean;
  /** True where the server is a Service Worker of this browser. */
  readonly isHosted: boolean;
}): string | undefined {
  if (state.isOffline) return state.isStreaming ? "No connection · It resumes by itself" : "No connection";
  if (state.isHosted) return "Runs in your browser · Free · Scripted answers";
  return state.isDemo ? "Offline emulator · Free · Answers are scripted" : undefined;
}

/** Says why this browser can't run the studio that is hosted as files, and what to do. */
export function hostedWords(problem: "unsupported" | "unloaded" | "failed"): {
  readonly title: string;
  readonly hint: string;
} {
  switch (problem) {
    case "unsupported":
      return {
        title: "This browser can't run the studio here",
        hint: "It needs Service Workers. Some private windows have none; neither do pages without HTTPS.",
      };
    case "unloaded":
      return { title: "The studio is not loaded yet", hint: "You are offline. Try again with a connection." };
    case "failed":
      return {
        title: "The studio could not start",
        hint: "The browser may refuse storage, as in a private window. Allow it, or open a normal window.",
      };
  }
}

/** Says who gives an answer that this tab did not ask for just now; undefined where this tab did. */
export function sourceWords(state: {
  readonly isResumed: boolean;
  readonly isElsewhere: boolean;
}): string | undefined {
  if (state.isResumed) return "Resumed";
  return state.isElsewhere ? "Answering in another tab" : undefined;
}

/** The state of a chat, for screen readers, which are not told every word. */
export function chatWords(status: ChatStatus, isComplete: boolean): string {
  switch (status) {
    case "submitted":
      return "Waiting for the answer…";
    case "streaming":
      return "Answering…";
    case "requires-action":
      return "The model waits for you.";
    case "error":
      return "";
    case "ready":
      return isComplete ? "The answer is complete." : "";
  }
}

/** Says that nothing of the chat in the address is here; whether there is one is not known where the storage fails. */
export function missingChatWords(keeping: Keeping): string {
  return keeping === "well" ? "This chat is not in this browser." : "This chat could not be read.";
}

/** Says that messages of a chat are not in the storage of the browser; undefined where all are. */
export function unsavedWords(state: {
  /** Number of messages that could not be written. They are tried again while the page is open. */
  readonly unsaved: number;
  readonly keeping: Keeping;
}): Words | undefined {
  const { unsaved, keeping } = state;
  if (keeping === "refused")
    return {
      title: "This browser does not keep your chats.",
      hint: "Copy what you need before you leave.",
    };
  if (unsaved === 0) return undefined;
  return {
    title: `${unsaved} ${unsaved === 1 ? "message is" : "messages are"} not saved.`,
    hint: "Keep this page open: it tries again by itself.",
  };
}

/** Says that all messages of a chat are written that could not be written before. */
export const ALL_SAVED = "All messages are saved.";

/** Returns the words of the first screen. Only the demo, which runs over the emulator, is offline and free. */
export function welcomeWords(isDemo: boolean): string {
  const does = "It streams, retries and resumes.";
  return isDemo ? `${does} This page runs offline and is free.` : does;
}

/** Words about chats that went to a file, or came from one. */
export const transferWords = {
  exported: "Chat exported",
  saved: "Saved as a file. “Import a chat” reads it.",
  imported: "Chat imported",
  unreadable: "No chat in this file. Choose one that was shared, or exported as JSON.",
  presetSaved: "Preset saved",
  presetRemoved: "Preset deleted",
} as const;

/** Says where a chat was moved to; an empty name is that of no folder. */
export function movedWords(folder: string): string {
  return folder === "" ? "Taken out of its folder" : `Moved to “${folder}”`;
}

/** Says why a file is not part of a message. The limits are those of `documents.tsx`. */
export function documentWords(problem: "type" | "size" | "pdf-size" | PDFProblem, name: string): string {
  switch (problem) {
    case "type":
      return `“${name}” is not a text.`;
    case "size":
      return `“${name}” is too large. Limit: 1 MB.`;
    case "pdf-size":
      return `“${name}” is too large. Limit: 50 MB.`;
    case "locked":
      return `“${name}” is locked with a password. Add a copy without it.`;
    case "scanned":
      return `“${name}” has no text: its pages are pictures. Add pictures of the pages.`;
    case "broken":
      return `“${name}” is broken. Open it in a PDF app, and save it again.`;
    case "long":
      return `“${name}” has more text than a model reads at once. Add fewer pages: the limit is 1 MB.`;
    case "unloaded":
      return `“${name}” can't be read now: a part of the page could not load. Check your connection.`;
  }
}

/** Says that a file is being read, and how far. */
export function readingWords(name: string, page?: readonly [page: number, pages: number]): string {
  return `Reading ${name}…${page ? ` Page ${page[0]} of ${page[1]}` : ""}`;
}

/** Says which pages of a PDF have text. The model reads this, too. */
export function pagesWords(withText: number, all: number): string {
  if (withText < all) return `text of ${withText} of ${all} pages`;
  return all === 1 ? "text of 1 page" : `text of ${all} pages`;
}

/** Says what goes with a message. `pages`: it is the text of a PDF. */
export function sentWords(characters: number, pages?: string): string {
  const count = `${characters.toLocaleString("en")} characters`;
  return pages === undefined ? count : `${pages} (${count}). Pictures are not sent.`;
}

/** Says how to get the packages until a release, in the words of the README. */
export const UNRELEASED = "The packages are not on a registry yet: install them from a clone.";

/** Says that a cost is by the studio's imaginary prices. */
export const imaginary = { title: "Imaginary cost" };

/** Says what answers cost; undefined where nothing of it is known. */
export function costWords(cost: ShownCost): string | undefined {
  return costText(cost, imaginary);
}

/** Says that a room, or a part of one, is not there. */
export const roomWords = {
  failed: "This room has failed.",
  unloadable: "This room could not load. Check your connection.",
  partUnloadable: "Could not load.",
} as const;

/** A file that was not added. */
export type Refused =
  /** There are as many as the form takes. */
  | { readonly reason: "number"; readonly most: number }
  /** The text has the name of the file. `rule`: the model does not take it. */
  | { readonly reason: "type" | "size" | "unreadable" | "rule"; readonly text: string };

/** Says why files were not added: one line for each reason, with the name of a file that is the only one. */
export function refusedWords(refused: readonly Refused[]): readonly string[] {
  const firsts = refused.filter(({ reason }, at) => refused.findIndex((one) => one.reason === reason) === at);
  return firsts.map((first) => {
    const count = refused.filter(({ reason }) => reason === first.reason).length;
    if (first.reason === "number")
      return `${count} ${count === 1 ? "file was" : "files were"} not added (${first.most} at most).`;
    if (count === 1) return first.text;
    const whys = {
      type: "can't be used here",
      size: "are too large",
      unreadable: "can't be read",
      rule: "are not what this model takes",
    };
    return `${count} files were not added: they ${whys[first.reason]}.`;
  });
}

/** Most files of a field of which the model sets no limit, and of a message. */
export const MOST_FILES = 10;
