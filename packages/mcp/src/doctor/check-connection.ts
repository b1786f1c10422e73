import { isRecord } from "@sluice/core/extend";
import {
  type Check,
  type Checks,
  combine,
  confirm,
  type Evidence,
  type Finding,
  refute,
  skip,
} from "./findings.js";
import type { Exchanges } from "./probes.js";
import type { Exchange } from "./send.js";

/** Checks by requests that are never charged. */
export const connectionChecks = {
  "no-redirect": (evidence) => {
    const { status, headers } = evidence.exchanges.chat;
    return isRedirected(evidence)
      ? refute(`${status} to ${headers.get("location") ?? "nowhere"}`)
      : confirm();
  },
  "chat-path": checkPath("chat"),
  "image-path": checkPath("image"),
  "video-path": checkPath("video"),
  "asset-path": checkPath("asset"),
  "epsilon-path": checkPath("epsilon"),
  "asset-lookup": (evidence) => {
    if (checkPath("asset")(evidence).verdict === "differs") return skip("there are no assets");
    return checkPath("assetLookup")(evidence);
  },
  "unknown-path": (evidence) => {
    const { unknownGet, unknownPost, unknownInV1 } = evidence.exchanges;
    if (isKeyRefused(evidence)) return describeRefusal(evidence);
    const findings = [unknownGet, unknownPost, unknownInV1].map((exchange) =>
      exchange.status === 404 ? confirm() : refute(describe(exchange)),
    );
    return combine(findings, "");
  },
  "key-required": (evidence) => {
    const { chatNoKey } = evidence.exchanges;
    if (chatNoKey.status === 401) return confirm();
    return lacksChats(evidence) ? skipWithoutChats(evidence) : refute(describe(chatNoKey));
  },
  "wrong-key": (evidence) => {
    const { chatWrongKey } = evidence.exchanges;
    if (isOneOf(chatWrongKey.status, 401, 403)) return confirm();
    return lacksChats(evidence) ? skipWithoutChats(evidence) : refute(describe(chatWrongKey));
  },
  "key-accepted": (evidence) => {
    const { chat, chatWrongKey } = evidence.exchanges;
    if (!evidence.hasKey) return describeRefusal(evidence);
    if (isKeyRefused(evidence)) return refute(describe(chat));
    if (lacksChats(evidence)) return skipWithoutChats(evidence);
    const isRefusedAlike = chat.status === chatWrongKey.status && isSameError(chat, chatWrongKey);
    return isRefusedAlike ? skip("a wrong key gets the same response") : confirm();
  },
  "error-body": ({ exchanges: { chat, chatNoKey, image, video } }) => {
    const errors = [chat, chatNoKey, image, video].filter(({ status = 0 }) => status >= 400);
    return combine(
      errors.map((error) => (readMessage(error) === undefined ? refute(describe(error)) : confirm())),
      "no request was refused",
    );
  },
  "invalid-request": (evidence) => {
    if (isKeyRefused(evidence)) return describeRefusal(evidence);
    const findings = (["chat", "image", "video", "asset"] as const).flatMap((name) => {
      const exchange = evidence.exchanges[name];
      if (isOneOf(exchange.status, undefined, 404, 405) || isIndistinct(evidence.exchanges, name)) return [];
      return isBetween(exchange.status, 400, 499) ? confirm() : refute(describe(exchange));
    });
    return combine(findings, "no endpoint read the request");
  },
  "request-id": ({ exchanges: { chat } }) =>
    chat.headers.has("x-request-id") ? confirm() : refute("no `x-request-id`"),
  "no-version": ({ exchanges: { chat } }) => {
    const versions = [...chat.headers].filter(([name]) => /\bversion$/.test(name));
    const found = versions.map(([name, value]) => `${name}: ${value}`).join(", ");
    return versions.length === 0 ? confirm() : refute(found);
  },
  "unknown-task": checkBelow("video", ({ task }) =>
    isOneOf(task.status, 404, 400) ? confirm(describe(task)) : refute(describe(task)),
  ),
  "task-cancel": checkBelow("video", ({ taskDelete, unknownInV1 }) => {
    const isUnknown = taskDelete.status === 404 && isSameError(taskDelete, unknownInV1);
    return isUnknown || isOneOf(taskDelete.status, 405, 501) ? confirm() : refute(describe(taskDelete));
  }),
  "epsilon-shapes": checkBelow("epsilon", ({ epsilon }) =>
    epsilon.json === undefined ? refute(describe(epsilon)) : confirm(),
  ),
  "asset-form": checkBelow("asset", ({ asset, assetForm }) => {
    if (describe(assetForm) === describe(asset)) return confirm();
    return assetForm.status === 415
      ? refute(describe(assetForm))
      : skip(`a form gets ${describe(assetForm)}`);
  }),
} satisfies Checks;

function skipWithoutChats({ exchanges }: Evidence): Finding {
  return skip(isIndistinct(exchanges, "chat") ? INDISTINCT : "there is no chat endpoint");
}

const INDISTINCT = "an unknown path gets the same response";

/** Checks if the address lacks a chat endpoint. Its responses then say nothing about keys. */
function lacksChats(evidence: Evidence): boolean {
  return !isKeyRefused(evidence) && !hasPath(evidence.exchanges, "chat");
}

function describeRefusal({ hasKey }: Evidence): Finding {
  return skip(
    hasKey ? "the server refuses the key" : "no key is set: GATEWAY_API_KEY, or PROXY_TOKEN for a proxy",
  );
}

function checkPath(name: PathName): Check {
  return (evidence) => {
    const exchange = evidence.exchanges[name];
    if (isKeyRefused(evidence)) return describeRefusal(evidence);
    if (exchange.status === undefined && exchange.failure?.startsWith("not sent"))
      return skip(exchange.failure);
    if (hasPath(evidence.exchanges, name)) return confirm();
    if (isIndistinct(evidence.exchanges, name)) return skip(INDISTINCT);
    const isClosed = evidence.kind === "worker" && exchange.status === 404 && name !== "chat";
    if (isClosed) return skip("the Worker does not open this route");
    return refute(exchange.status === 404 ? "404, as for an unknown path" : describe(exchange));
  };
}

/** Checks a response below a path. Skips the check if the path is missing. */
function checkBelow(name: PathName, check: (exchanges: Exchanges) => Finding): Check {
  return (evidence) => {
    const path = checkPath(name)(evidence);
    if (path.verdict === "holds") return check(evidence.exchanges);
    return path.verdict === "unclear" ? path : skip(`${name}-path differs`);
  };
}

type PathName = "chat" | "image" | "video" | "asset" | "assetLookup" | "epsilon";

/** Checks if an endpoint exists: its response must differ from the response of an unknown path, and must not be a page. */
export function hasPath(exchanges: Exchanges, name: PathName): boolean {
  const { status, headers, json } = exchanges[name];
  if (status === undefined || isOneOf(status, 405, 501)) return false;
  if (isLikeUnknown(exchanges, name)) return false;
  return isRecord(json) || !(isBetween(status, 200, 399) || /html/.test(headers.get("content-type") ?? ""));
}

/** Checks if an endpoint responds like an unknown path but not with 404: the endpoint may exist or not. */
export function isIndistinct(exchanges: Exchanges, name: PathName): boolean {
  return exchanges[name].status !== 404 && isLikeUnknown(exchanges, name);
}

/** For each endpoint, the most similar request to an unknown path. */
const UNKNOWN_PROBES = {
  chat: "unknownInV1",
  image: "unknownInV1",
  video: "unknownInV1",
  asset: "unknownPost",
  assetLookup: "unknownPost",
  epsilon: "unknownGet",
} as const satisfies Readonly<Record<PathName, keyof Exchanges>>;

/** Checks if an endpoint responds like an unknown path. */
function isLikeUnknown(exchanges: Exchanges, name: PathName): boolean {
  const unknown = exchanges[UNKNOWN_PROBES[name]];
  return exchanges[name].status === unknown.status && isSameError(exchanges[name], unknown);
}

/** Checks if the server refuses the chat because of its key, or because it has none. */
export function isKeyRefused({ exchanges: { chat } }: Pick<Evidence, "exchanges">): boolean {
  // a Worker refuses a chat without a model as one with an unlisted model: with 403
  const isAboutModel = readError(chat)?.["code"] === "model_not_allowed";
  return isOneOf(chat.status, 401, 403) && !isAboutModel;
}

export function isRedirected({ exchanges: { chat } }: Pick<Evidence, "exchanges">): boolean {
  return isBetween(chat.status, 300, 399);
}

function isSameError(one: Exchange, other: Exchange): boolean {
  const [code, otherCode] = [readError(one)?.["code"], readError(other)?.["code"]];
  if (code !== undefined || otherCode !== undefined) return code === otherCode;
  // messages name the path, and some bodies have a time
  const normalize = ({ text }: Exchange) => text.replace(/\/[\w/.-]+|\d+/g, "");
  return normalize(one) === normalize(other);
}

/** Returns the `error` object of a body. */
export function readError({ json }: Exchange): Readonly<Record<string, unknown>> | undefined {
  return isRecord(json) && isRecord(json["error"]) ? json["error"] : undefined;
}

function readMessage(exchange: Exchange): string | undefined {
  const message = readError(exchange)?.["message"];
  return typeof message === "string" ? message : undefined;
}

/** Maximum length of the text of a response in a report. */
const MAX_CHARACTERS = 100;

/** Describes a response in a few words: `400: The body is empty.` */
export function describe(exchange: Exchange): string {
  const { status, headers, text, failure } = exchange;
  if (status === undefined) return failure ?? "no response";
  const type = headers.get("content-type")?.replace(/;.*/, "");
  const topLevel = isRecord(exchange.json) ? exchange.json["message"] : undefined;
  const message = readMessage(exchange) || (typeof topLevel === "string" && topLevel);
  const words = message || (type === "text/html" ? "a page" : text.trim() || type);
  const short = words && words.length > MAX_CHARACTERS ? `${words.slice(0, MAX_CHARACTERS)}…` : words;
  return `${status}${short ? `: ${short.replace(/\s+/g, " ")}` : ""}${failure ? ` (${failure})` : ""}`;
}

export function isOneOf(value: unknown, ...values: readonly unknown[]): boolean {
  return values.includes(value);
}

export function isBetween(status: number | undefined, min: number, max: number): boolean {
  return status !== undefined && status >= min && status <= max;
}
