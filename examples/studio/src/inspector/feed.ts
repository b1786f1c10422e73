import type { AssetRequest, ClientEvent, ImageRequest, Issue, VideoRequest } from "@sluice/core";
import type { ChatTarget } from "@sluice/react";
import { atom } from "nanostores";
import { useEffect, useSyncExternalStore } from "react";

type CallEvent = Extract<ClientEvent, { readonly callId: string; readonly path: string }>;
/** A step of a call with the time at which it was recorded, in milliseconds since 1970. */
export type RecordedStep = CallEvent & { readonly at: number };

/** A request as it left the page. */
export interface SentRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** JSON of the body with long strings shortened; absent from a query, and until it is read. */
  readonly body?: unknown;
}

/** A call of the client: its steps and its requests, one for each attempt. */
export interface Call {
  readonly callId: string;
  readonly kind: CallEvent["kind"];
  readonly model?: string | undefined;
  readonly path: string;
  readonly steps: readonly RecordedStep[];
  readonly requests: readonly SentRequest[];
  readonly warnings: readonly Issue[];
}

/** Largest number of calls that are kept. */
const MOST_CALLS = 60;
/** Largest number of steps and of requests that are kept of one call. */
const MOST_STEPS = 60;
/** Length from which a string of a request is shortened: data URIs of pictures. */
const LONG = 2000;

/** The latest calls of the client, newest first. */
export const calls = atom<readonly Call[]>([]);

/** Says if an answer of a chat that has begun is in flight. */
export function useAnswerInFlight(): boolean {
  return useSyncExternalStore(calls.listen, () =>
    calls.get().some(({ kind, steps }) => {
      const has = (type: RecordedStep["type"]) => steps.some((step) => step.type === type);
      return kind === "chat" && has("first-chunk") && !has("end");
    }),
  );
}

/** True from the start of a chat or image call to its end. */
export function isAnswering(): boolean {
  return calls
    .get()
    .some(
      ({ kind, steps }) => (kind === "chat" || kind === "image") && !steps.some(({ type }) => type === "end"),
    );
}

/** The call whose `request` event came last: the client fetches right after it. */
let sending: string | undefined;

/** Records one event of the client. */
export function recordEvent(event: ClientEvent): void {
  if (event.type === "warning" && event.callId !== undefined) {
    const { issue } = event;
    return change(event.callId, (call) => ({ ...call, warnings: [...call.warnings, issue] }));
  }
  if (!("path" in event)) return;
  const { callId, kind, model, path } = event;
  if (event.type === "request") sending = callId;
  const step = { ...event, at: Date.now() };
  const known = calls.get();
  if (!known.some((call) => call.callId === callId))
    calls.set(
      [{ callId, kind, model, path, steps: [], requests: [], warnings: [] }, ...known].slice(0, MOST_CALLS),
    );
  change(callId, (call) => ({ ...call, steps: [...call.steps, step].slice(-MOST_STEPS) }));
}

/** Records a request that the client is about to fetch, under the call that announced it. */
export function recordRequest(request: Request): void {
  const callId = sending;
  sending = undefined;
  if (callId === undefined) return;
  const sent: SentRequest = {
    method: request.method,
    url: request.url,
    headers: [...request.headers].map(([name, value]) => [name, isSecret(name) ? "[redacted]" : value]),
  };
  change(callId, (call) => ({ ...call, requests: [...call.requests, sent].slice(-MOST_STEPS) }));
  if (request.method === "GET") return;
  void request
    .clone()
    .json()
    .then((body: unknown) =>
      change(callId, (call) => ({
        ...call,
        requests: call.requests.map((it) => (it === sent ? { ...it, body: shortened(body) } : it)),
      })),
    )
    .catch(() => {
      // a form or an aborted request: its head is enough
    });
}

function change(callId: string, next: (call: Call) => Call): void {
  calls.set(calls.get().map((call) => (call.callId === callId ? next(call) : call)));
}

function isSecret(name: string): boolean {
  return /authorization|cookie|key|token/i.test(name);
}

function shortened(value: unknown): unknown {
  if (typeof value === "string")
    return value.length > LONG ? `${value.slice(0, 80)}… (${value.length} characters)` : value;
  if (Array.isArray(value)) return value.map(shortened);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shortened(item)]));
}

/** The work that a room would send now. The Code tab writes it as code. */
export type Work =
  | {
      readonly room: "chat";
      /** Model and parameters, as `useChatStream` takes them. */
      readonly target: ChatTarget;
      /** The other model, where two are compared. */
      readonly compared?: ChatTarget | undefined;
      /** Text of the draft or of the last question; a default stands in for an empty one. */
      readonly question?: string | undefined;
      readonly instructions?: string | undefined;
      /** Names of the tools that are offered. */
      readonly tools?: readonly string[] | undefined;
    }
  | { readonly room: "images"; readonly request: ImageRequest }
  | { readonly room: "videos"; readonly request: VideoRequest }
  | { readonly room: "assets"; readonly request: AssetRequest };

/** The running room, as the inspector shows it. */
export interface Inspected {
  readonly work: Work;
  /** Snapshot of the room's store. */
  readonly state: unknown;
}

/** The room on screen; undefined until it says so. */
export const inspected = atom<Inspected | undefined>(undefined);

/** Shows the inspector the work and the state of the room that calls this. */
export function useInspected(work: Work, state: unknown): void {
  // without dependencies: objects are new in each render, and setting a value without subscribers costs nothing
  useEffect(() => inspected.set({ work, state }));
}
