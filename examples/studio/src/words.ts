import type { ChatStatus, ThreadMessage } from "@sluice/core";
import type { ConversationAccess, ScheduleTime } from "@sluice/core/remote";
import { costText, type ShownCost } from "../../registry/components/sluice/cost-text.js";
import type { VideoState } from "../../registry/components/sluice/video-progress.js";
import { endingWords as ending } from "../../registry/components/sluice/words.js";
import type { Keeping } from "./client.js";

/*
 * Every sentence of the studio that claims something about a state: each is a function of the state that makes it true.
 * tests/studio/words.test.ts lists them with their conditions.
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

/** Says that nothing of a request left this page. */
export const NOTHING_SENT = "Nothing was sent.";

/** Says why an answer is not whole, and that a question has none: the words of the registry's components. */
export const {
  outcomes: endingWords,
  unanswered: UNANSWERED,
  silence: silenceWords,
  retrying: retryWords,
} = ending;

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

/** Says that images, assets or forms of videos could not be written, and are tried again while the page is open. */
export const UNSAVED: Words = {
  title: "Not all of this is saved.",
  hint: "Keep this page open: it tries again by itself.",
};

/** Says that all messages of a chat are written that could not be written before. */
export const ALL_SAVED = "All messages are saved.";

/** Says in another room that a video is not running any more. */
export function videoNotice(state: Exclude<VideoState, "running">, label: string): string {
  const words = { done: "Video ready", failed: "Video failed", unknown: "Check your video" };
  return `${words[state]}: ${label}`;
}

/** Says how notifications of videos come, or why they don't. */
export function notificationWords(state: {
  readonly permission: "default" | "granted" | "denied" | "unsupported";
  readonly isTurningOn: boolean;
  readonly mode: "page" | "push" | undefined;
}): string {
  if (state.permission === "unsupported") return "This browser has no notifications.";
  if (state.permission === "denied") return "Notifications are blocked. Allow them in your browser.";
  if (state.isTurningOn) return "Turning on…";
  if (state.mode === "page") return "Keep this tab open.";
  return state.mode === "push" ? "You can close this tab." : "";
}

/** State of an asset: `unknown` where it can't be checked. */
export type AssetState = "sending" | "unsent" | "preparing" | "ready" | "failed" | "unknown";

/** The state of an asset. */
export function assetWords(state: AssetState): string {
  return {
    sending: "Sending",
    unsent: "Not added",
    preparing: "Preparing",
    ready: "Ready",
    failed: "Failed",
    unknown: "Unknown",
  }[state];
}

/** Says what the gateway did with the picture of an asset that failed. */
export const ASSET_REFUSED = "This picture can't be used. Choose another one.";

/** Says who gave a request its key. The Worker answers some paths itself, without the gateway. */
export function keyWords(state: { readonly hasKey: boolean; readonly path: string }): string {
  if (state.hasKey) return "Key sent by this page";
  return isOfGateway(state.path) ? "Key added by the Worker" : "Answered by the Worker alone";
}

/** Names a call by what it asks for; a status is no second order. */
export function callWords(state: { readonly path: string; readonly model?: string | undefined }): string {
  if (state.path.startsWith("/v1/chat/streams/")) return "Resumed answer";
  if (/^\/v1\/video\/generations\/./.test(state.path)) return "Video status";
  return state.model ?? state.path;
}

function isOfGateway(path: string): boolean {
  return !/^\/v1\/(?:chat\/streams|uploads|media|archive|notifications|budget)\b|\/events$/.test(path);
}

/** Returns the words of the first screen. Only the demo, which runs over the emulator, is offline and free. */
export function welcomeWords(isDemo: boolean): string {
  const does = "It streams, retries and resumes.";
  return isDemo ? `${does} This page runs offline and is free.` : does;
}

/** Words about chats that went to a file, or came from one. */
export const transferWords = {
  exported: "Chat exported",
  imported: "Chat imported",
  unreadable: "No chat in this file. Choose one that was exported as JSON.",
  presetSaved: "Preset saved",
  presetRemoved: "Preset deleted",
} as const;

/** Says why a file is not part of a message. */
export function documentWords(problem: "pdf" | "type" | "size", name: string): string {
  switch (problem) {
    case "pdf":
      return `“${name}” is a PDF. These models read text and images: add its text, or a picture of a page.`;
    case "size":
      return `“${name}” is too large. Limit: 1 MB.`;
    case "type":
      return `“${name}” is not a text.`;
  }
}

/** Says how to get the packages until a release, in the words of the README. */
export const UNRELEASED = "The packages are not on a registry yet: install them from a clone.";

/** Says what the demo's emulator can draw, where one of the results has a prompt that none of its scenes fits. */
export function drawingWords(state: {
  readonly isDemo: boolean;
  readonly hasUnfitPrompt: boolean;
  /** Names of what it draws. */
  readonly scenes: readonly string[];
}): string | undefined {
  if (!state.isDemo || !state.hasUnfitPrompt) return undefined;
  const list = new Intl.ListFormat("en").format(state.scenes);
  return `The emulator draws ${list}. Any other prompt becomes a caption.`;
}

/** Says that a cost is by the studio's imaginary prices. */
export const imaginary = { title: "Imaginary cost" };

/** Says what answers cost; undefined where nothing of it is known. */
export function costWords(cost: ShownCost): string | undefined {
  return costText(cost, imaginary);
}

/** Says what a request in flight does. */
export const busyWords = { images: "Generating", asset: "Registering" } as const;

/** Says that the images of the last request are there, for screen readers. */
export const IMAGES_DONE = "Done";

/** The state of a tool call. */
export { toolStates as toolWords } from "../../registry/components/sluice/words.js";

/** Says that a room, or a part of one, is not there. */
export const roomWords = {
  failed: "This room has failed.",
  unloadable: "This room could not load. Check your connection.",
  partUnloadable: "Could not load.",
} as const;

/** Says that a model is not known to call tools, though they are offered to it. */
export const TOOLS_UNLISTED = "This model may ignore tools.";

/** Says that the proxy has no place for files. */
export const NO_FILE_STORE: Words = {
  title: "This server stores no files",
  hint: "Use a link instead of the file.",
};

/** Says that files which were chosen before the page was loaded anew are not there any more. */
export function lostFilesWords(names: readonly string[]): string {
  return `Choose ${names.map((name) => `“${name}”`).join(", ")} again. The page was reloaded.`;
}

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

/** Says that a request was refused for its size. */
export const TOO_LARGE: Words = { title: "Too large", hint: "Use a smaller file, or fewer." };

/** Says who wrote a message. */
export function authorWords({
  role,
  origin,
  author,
}: Pick<ThreadMessage, "role" | "origin" | "author">): string {
  if (author && role === "user") return author.name ?? "A former member";
  if (origin === "server") return "Server";
  return origin === "another-device" ? "Other device" : "This device";
}

/** State of a device, as far as it can be said. */
interface DeviceState {
  readonly isOffline: boolean;
  readonly isWorking: boolean;
  readonly isSyncing: boolean;
}

/** Says how it stands between a device and the server; nothing while all is well. */
export function deviceWords({ isOffline, isWorking, isSyncing }: DeviceState): string {
  if (isOffline) return isSyncing ? "Offline. Not all is sent." : "Offline";
  if (isWorking) return "The server is working…";
  return isSyncing ? "Syncing…" : "";
}

/** Says of a device without a page that nothing of it runs. */
export const DEVICE_CLOSED = "Closed. The server goes on.";

/** Says that the sign-in is none. */
export const NO_PASSWORD = "There is no password: each name is believed. Your app has its own sign-in.";

/** Names the button that cuts the network of a device, or mends it. */
export function networkWords(isOffline: boolean): string {
  return isOffline ? "Go online" : "Go offline";
}

/** Title of the picture that a device plans. */
export const MORNING_PICTURE = "Morning picture";

/** The panel with the schedules of a chat. */
export const scheduleWords = {
  daily: "Each morning at 08:00",
  soon: "In 5 seconds",
  none: "No schedules. The server makes the picture, also with all devices closed.",
} as const;

/** Says when a schedule starts. */
export function startWords(time: ScheduleTime): string {
  if ("time" in time) return `Each day at ${time.time}`;
  return `Once at ${new Date(time.at).toLocaleTimeString("en", { timeStyle: "medium" })}`;
}

/** The panel with the link to a chat. */
export const shareWords = {
  read: "Link to read",
  write: "Link to write",
  join: "Join the chat",
  intro: "Someone shares a chat with you.",
} as const;

/** Says where a link can be opened: a hosted page has its server in this browser alone. */
export function linkWords(isHosted: boolean): string {
  return isHosted ? "Open it in this browser." : "Open it in another browser or a private window.";
}

/** Names a link that was made. */
export function openWords(access: ConversationAccess): string {
  return access === "read" ? "Join to read" : "Join to write";
}

/** Says of a chat without a question that no other device can find it. */
export const ASK_FIRST = "Ask something first.";

/** Says why the composer of a reader is disabled. */
export const READ_ONLY = "You can read this chat, not write in it.";

/** Says before the sign-in what the devices show. */
export const DEVICES_INTRO = "One conversation on a laptop and a phone. It goes on when both are closed.";

/** Names the place of a room's code that is not written from settings. */
export const NO_CODE = "The code of this room is in examples/devices.";
