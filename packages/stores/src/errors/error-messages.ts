/**
 * Reason why a file was not attached.
 *
 * - `type`: models do not accept this type of image. The bytes decide, not the name
 * - `size`: it is larger than `maxBytes`, and `downscale` is off
 * - `number`: there are `max` attachments already
 * - `unreadable`: it is empty or damaged, or can no longer be read
 */
export type AttachmentProblemKind = "type" | "size" | "number" | "unreadable";

/** Text for one kind of error: a title of at most five words and a hint of at most twelve. */
export interface ErrorText {
  /** Short name of the problem. */
  readonly title: string;
  /** Advice on what to do; may be empty. */
  readonly hint: string;
}

const texts = {
  offline: { title: "You seem to be offline", hint: "Check your connection, then try again." },
  unreachable: { title: "Can't connect", hint: "Check your internet, then try again." },
  originRefused: {
    title: "Page not allowed",
    hint: "Add this page to the server's `origins`.",
  },
  wrongAddress: { title: "Wrong address", hint: "Check the app's `baseURL` and its proxy." },
  connectionLost: { title: "Connection lost", hint: "Check your internet, then try again." },
  timedOut: { title: "No response in time", hint: "Try again, or choose another model." },
  stalled: { title: "The response stopped", hint: "Try again." },
  cutOff: { title: "The response was cut off", hint: "Try again to get all of it." },
  damaged: { title: "The response was damaged", hint: "Try again." },
  modelFailed: { title: "The model had an error", hint: "Try again." },
  unreadable: { title: "Unknown response", hint: "Try again, or report it." },
  invalidInput: { title: "Please check your input", hint: "Fix what is marked, then try again." },
  blindModel: { title: "This model can't see images", hint: "Choose another model, or remove the images." },
  refusedInput: { title: "Request not accepted", hint: "Change your input, then try again." },
  tooLong: { title: "Too much to send", hint: "Shorten it, or start a new chat." },
  signedOut: { title: "Please sign in", hint: "Sign in, then try again." },
  otherUser: { title: "Signed in as another user", hint: "Reload this page, or sign in again." },
  forbidden: { title: "Not allowed", hint: "Ask for access, or choose another model." },
  modelNotAllowed: { title: "Model not available", hint: "Choose another model." },
  notFound: { title: "Not found", hint: "It may have been removed." },
  rateLimited: { title: "Too many requests", hint: "Wait a moment, then try again." },
  budgetUsed: { title: "Limit reached", hint: "You can continue after the reset." },
  sharedBudgetUsed: { title: "Limit reached for everyone", hint: "You can continue after the reset." },
  serviceDown: { title: "The service has a problem", hint: "Try again in a few minutes." },
  setup: { title: "Setup error", hint: "Tell the people who run this app." },
  imageFailed: { title: "This image failed", hint: "Change your input, then try again." },
  assetFailed: { title: "Image not accepted", hint: "Choose another image." },
  videoFailed: { title: "The video failed", hint: "Change your input, then try again." },
  videoMissing: { title: "The video is missing", hint: "Check again later, or report it." },
  videoExpired: { title: "The video has expired", hint: "Make it again to see it." },
  videoLate: { title: "The video takes too long", hint: "It may still finish. Check again later." },
  storageFull: { title: "Storage is full", hint: "Delete old chats to make room." },
  stopped: { title: "Stopped", hint: "" },
  unexpected: { title: "Something went wrong", hint: "Try again, or report it." },
  mayBeBilled: "You may have been charged.",
  attachments: {
    type: "“{name}” is not a JPEG, PNG, GIF or WebP image.",
    size: "“{name}” is too large. Limit: {megabytes} MB.",
    number: "“{name}” was not added. Limit: {max} images.",
    unreadable: "“{name}” can't be read.",
  },
};

/** Kind of an error, by its meaning for users. */
export type ErrorKind = Exclude<keyof typeof texts, "mayBeBilled" | "attachments">;

/** All texts of {@link describeError} and `useAttachments`, one for each kind of error. A missing kind is a type error. */
export interface ErrorMessages extends Readonly<Record<ErrorKind, ErrorText>> {
  /** Sentence after the hint if the failed request may be billed. */
  readonly mayBeBilled: string;
  /**
   * Reasons why a file was not attached. `{name}`, `{max}` and `{megabytes}` stand for its name and the limits. The name
   * is inserted between U+2068 and U+2069, so that it does not change the direction of the text around it.
   */
  readonly attachments: Readonly<Record<AttachmentProblemKind, string>>;
}

/**
 * English texts of {@link describeError} and `useAttachments`. Spread them to replace some.
 *
 * @example
 * ```ts run
 * const messages = { ...errorMessages, offline: { title: "Keine Verbindung", hint: "Prüfen Sie das Netz." } };
 * describeError(new Error("no network"), { messages }).title;
 * ```
 */
export const errorMessages: ErrorMessages = texts;
