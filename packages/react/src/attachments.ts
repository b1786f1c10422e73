import type { Store } from "@sluice/core";
import { createStore } from "@sluice/core/extend";
import { type ErrorMessages, errorMessages } from "@sluice/stores";

/** An image for the next message. */
export interface Attachment {
  /** Id of the attachment in this list. */
  readonly id: string;
  /** The file as the user chose it. */
  readonly file: File;
  /** The image to send: the file or a smaller copy. */
  readonly image: Blob;
  /** Address of a preview, for `src`. Revoked when the attachment is removed or its component unmounts. */
  readonly previewUrl: string;
  /** True while the file is checked and downscaled. */
  readonly isPreparing: boolean;
}

type Problem = keyof ErrorMessages["attachments"];

/** A rejected file and the reason. */
export interface AttachmentProblem {
  /** Id of the problem in this list. */
  readonly id: string;
  /** The file. */
  readonly file: File;
  /** Reason of the rejection: `type`, `size`, `number` (of attachments), or `unreadable`. */
  readonly problem: Problem;
  /** The reason as a text with the file's name. */
  readonly message: string;
}

/** Options of `useAttachments`. All may change at any time. */
export interface UseAttachmentsOptions {
  /** Largest number of attachments per message. The spec sets no limit. @default 10 */
  readonly max?: number | undefined;
  /** Largest size of one image, in bytes. The spec sets no limit. @default 5_242_880 */
  readonly maxBytes?: number | undefined;
  /** Longest side of an image, in pixels; used by `downscale`. @default 2048 */
  readonly maxSide?: number | undefined;
  /**
   * Downscales larger images to `maxSide` and `maxBytes`. The copy is a JPEG without transparency and animation. Images
   * within the limits are sent unchanged. Does nothing on a platform without canvas.
   *
   * @default true
   */
  readonly downscale?: boolean | undefined;
  /** Texts of the problems, in any language. @default errorMessages */
  readonly messages?: ErrorMessages | undefined;
}

/** Snapshot of the attachments. */
export interface AttachmentState {
  /** The attachments, in the order of their addition. */
  readonly attachments: readonly Attachment[];
  /** Rejected files, until `dismiss`, `clear` or the next `add`. */
  readonly problems: readonly AttachmentProblem[];
}

/** Store of the attachments of one message. */
export interface AttachmentStore extends Store<AttachmentState> {
  /** Checks files, and adds the accepted files. Rejected files become `problems`. */
  readonly add: (files: Iterable<File>) => void;
  /** Removes an attachment by its id. */
  readonly remove: (id: string) => void;
  /** Removes all attachments and problems, after the message was sent. */
  readonly clear: () => void;
  /** Removes all problems. */
  readonly dismiss: () => void;
  /** Keeps the previews while a component shows them. The returned function revokes them after `LINGER_MS`. */
  readonly hold: () => () => void;
}

/** Image types that models accept (spec, Model `alpha-v4.1-flash`), for `accept` of an input. */
export const acceptedTypes: readonly string[] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/** Time to keep previews without a component. It covers the moment between two mounts. */
const LINGER_MS = 1000;

/** Creates the store of one message's attachments. `read` returns the current options. */
export function createAttachmentStore(readOptions: () => UseAttachmentsOptions): AttachmentStore {
  let attachments: readonly Attachment[] = [];
  let problems: readonly AttachmentProblem[] = [];
  let lastId = 0;
  let revokeTimer: ReturnType<typeof setTimeout> | undefined;
  const store = createStore<AttachmentState>(() => ({ attachments, problems }));
  return { getSnapshot: store.getSnapshot, subscribe: store.subscribe, add, remove, clear, dismiss, hold };

  function add(files: Iterable<File>): void {
    problems = [];
    for (const file of files) {
      const { max = 10 } = readOptions();
      if (file.type !== "" && !acceptedTypes.includes(file.type)) addProblem(file, "type");
      else if (attachments.length >= max) addProblem(file, "number");
      else attach(file);
    }
    store.flush();
  }

  function attach(file: File): void {
    const id = createId();
    const previewUrl = URL.createObjectURL(file);
    attachments = [...attachments, { id, file, image: file, previewUrl, isPreparing: true }];
    prepare(file, readOptions()).then(
      (ready) => finishPreparing(id, file, ready),
      () => finishPreparing(id, file, "unreadable"),
    );
  }

  function finishPreparing(id: string, file: File, result: Blob | Problem): void {
    if (!attachments.some((attachment) => attachment.id === id)) return;
    if (typeof result === "string") {
      remove(id);
      addProblem(file, result);
    } else
      attachments = attachments.map((attachment) =>
        attachment.id === id ? { ...attachment, image: result, isPreparing: false } : attachment,
      );
    store.flush();
  }

  function addProblem(file: File, problem: Problem): void {
    const { max = 10, maxBytes = MAX_BYTES, messages = errorMessages } = readOptions();
    const details: Record<string, string> = {
      // isolated, so that a name can't turn the direction of the sentence around
      name: `\u2068${file.name}\u2069`,
      max: String(max),
      megabytes: String(Math.round((maxBytes / MEGABYTE) * 10) / 10),
    };
    const message = messages.attachments[problem].replace(
      /\{(\w+)\}/g,
      (whole, name: string) => details[name] ?? whole,
    );
    problems = [...problems, { id: createId(), file, problem, message }];
  }

  function remove(id: string): void {
    for (const { previewUrl } of attachments.filter((attachment) => attachment.id === id))
      URL.revokeObjectURL(previewUrl);
    attachments = attachments.filter((attachment) => attachment.id !== id);
    store.flush();
  }

  function clear(): void {
    revokeAll();
    attachments = [];
    problems = [];
    store.flush();
  }

  function dismiss(): void {
    problems = [];
    store.flush();
  }

  function hold(): () => void {
    clearTimeout(revokeTimer);
    if (attachments.some(({ previewUrl }) => previewUrl === "")) recreatePreviews();
    return () => {
      revokeTimer = setTimeout(revokeAll, LINGER_MS);
    };
  }

  /** Revokes all previews. A hidden component gets new ones when it is shown again. */
  function revokeAll(): void {
    for (const { previewUrl } of attachments) URL.revokeObjectURL(previewUrl);
    attachments = attachments.map((attachment) => ({ ...attachment, previewUrl: "" }));
  }

  function recreatePreviews(): void {
    attachments = attachments.map((attachment) => ({
      ...attachment,
      previewUrl: URL.createObjectURL(attachment.file),
    }));
    store.flush();
  }

  function createId(): string {
    lastId += 1;
    return String(lastId);
  }
}

const MEGABYTE = 1_048_576;
const MAX_BYTES = 5 * MEGABYTE;

/** Checks a file and downscales it if necessary. */
async function prepare(
  file: File,
  { maxBytes = MAX_BYTES, maxSide = 2048, downscale = true }: UseAttachmentsOptions,
): Promise<Blob | Problem> {
  // loaded with the first file, because most messages have none
  const { prepareImage } = await import("./prepare-image.js");
  return prepareImage(file, { maxBytes, maxSide, downscale });
}
