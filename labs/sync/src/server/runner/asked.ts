import { type KeptMessage, SERVER } from "./records.js";
import { turnRefusal } from "./refusals.js";

/** A turn as a device asks for it. */
export interface AskedTurn {
  /** Id of the turn: the one that the page gives it, or that of the question. */
  readonly id: string;
  /** The question; undefined for an answer below a message that is there. */
  readonly message: KeptMessage | undefined;
  /** The message that the turn follows; null for a first question. */
  readonly parent: string | null;
  /** The device on which the question was written, as its pages name it; undefined where it says none. */
  readonly by: string | undefined;
}

const ID = /^(?!\/)[\x21-\x7e]{1,128}$/;

/** True for the address of an image, as a message may have it. */
function isPicture(url: unknown): url is string {
  return typeof url === "string" && /^(?:https?:\/\/|data:image\/)/i.test(url);
}

/** @throws {Refusal} 400 that names the field */
export function askedTurn(body: Readonly<Record<string, unknown>> = {}): AskedTurn {
  const { message: given, parent = null } = body;
  const isId = (value: unknown): value is string => typeof value === "string" && ID.test(value);
  if (parent !== null && !isId(parent))
    throw turnRefusal("turn_invalid", { what: "parent: send the id of a message, or null" });
  const message = given === undefined ? undefined : questionIn(given);
  const id = body["id"] ?? message?.id;
  if (!isId(id) || (message && !isId(message.id)))
    throw turnRefusal("turn_invalid", { what: "id: send 1 to 128 visible ASCII characters" });
  if (!message && parent === null)
    throw turnRefusal("turn_invalid", { what: "message: send a question, or the parent of an answer" });
  // `server` is the author of answers alone
  const by = isId(body["by"]) && body["by"] !== SERVER ? body["by"] : undefined;
  return { id, message, parent, by };
}

function questionIn(given: unknown): KeptMessage {
  const { id, content, images, createdAt } = (given ?? {}) as Record<string, unknown>;
  if (typeof content !== "string") throw turnRefusal("turn_invalid", { what: "message.content: send text" });
  const areImages = Array.isArray(images) && images.every(isPicture);
  if (images !== undefined && !areImages)
    throw turnRefusal("turn_invalid", { what: "message.images: send http(s) URLs or data URLs of images" });
  if (content.trim() === "" && !(areImages && images.length > 0))
    throw turnRefusal("turn_invalid", {
      what: "message.content: must be text that is not empty, unless there are images",
    });
  const at = Number.isFinite(createdAt) ? (createdAt as number) : Date.now();
  return { id: id as string, role: "user", content, ...(areImages && { images }), createdAt: at };
}
