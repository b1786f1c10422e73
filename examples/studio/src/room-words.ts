import type { VideoState } from "../../../labs/registry/components/sluice/video-progress.js";
import type { Words } from "./words.js";

/*
 * The sentences of the rooms and of the inspector, which the first screen does not need. As in words.ts, each that claims
 * something about a state is a function of it.
 */

/** Says that a failed request costs nothing. */
export const NOTHING_BILLED = "Nothing was billed.";

/** Says that the answer to a request for images never reached this page. */
export const NOT_FINISHED = "It was not finished here. You may have been charged.";

/** Says that images, assets or forms of videos could not be written, and are tried again while the page is open. */
export const UNSAVED: Words = {
  title: "Not all of this is saved.",
  hint: "Keep this page open: it tries again by itself.",
};

/** Says in another room that a video is not running any more. */
export function videoNotice(state: Exclude<VideoState, "running">, label: string): string {
  const words = { done: "Video ready", failed: "Video failed", unknown: "Check your video" };
  return `${words[state]}: ${label}`;
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

/** Says why the picture of an asset is not shown: the policy of a hosted page allows no other host. */
export const NO_PREVIEW = "No preview. This page loads nothing from other sites.";

/** Says who gave a request its key. The Worker answers some paths itself, without the gateway. */
export function keyWords(state: { readonly hasKey: boolean; readonly path: string }): string {
  if (state.hasKey) return "Key sent by this page";
  return isOfGateway(state.path) ? "Key added by the Worker" : "Answered by the Worker alone";
}

/** Says what the code of a room follows. The server of a hosted page answers that page alone. */
export function codeWords(isHosted: boolean): string {
  const follows = "It follows the settings of this room.";
  return isHosted ? `${follows} Its address stands for your Worker.` : follows;
}

/** Names a call by what it asks for; a status is no second order. */
export function callWords(state: { readonly path: string; readonly model?: string | undefined }): string {
  if (state.path.startsWith("/v1/chat/streams/")) return "Resumed answer";
  if (/^\/v1\/video\/generations\/./.test(state.path)) return "Video status";
  return state.model ?? state.path;
}

function isOfGateway(path: string): boolean {
  return !/^\/v1\/(?:chat\/streams|uploads|media|archive|budget)\b|\/events$/.test(path);
}

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

/** Says what a request in flight does. */
export const busyWords = { images: "Generating", asset: "Registering" } as const;

/** Says that the images of the last request are there, for screen readers. */
export const IMAGES_DONE = "Done";

/** Says that the proxy has no place for files. */
export const NO_FILE_STORE: Words = {
  title: "This server stores no files",
  hint: "Use a link instead of the file.",
};

/** Says that files which were chosen before the page was loaded anew are not there any more. */
export function lostFilesWords(names: readonly string[]): string {
  return `Choose ${names.map((name) => `“${name}”`).join(", ")} again. The page was reloaded.`;
}

/** Says that a request was refused for its size. */
export const TOO_LARGE: Words = { title: "Too large", hint: "Use a smaller file, or fewer." };
