import type { ChatRequest } from "@sluice/core";
import { chatModels, checkChatRequest } from "@sluice/core/schemas";
import { type EmulatorClock, untilAborted } from "../clock.js";
import type { Exchange } from "../exchange.js";
import { reset } from "../faults.js";
import { hash } from "../hash.js";
import { type Answer, badRequest, eventStream, json, jsonBody, rateLimited, serverError } from "../http.js";
import { type Ask, readAsk } from "./ask.js";
import { completionTokens, type Reply, withinBudget } from "./budget.js";
import { paceOf } from "./pace.js";
import { type ChatScript, draftReply } from "./reply.js";
import { midwayError, writeFrames } from "./stream.js";
import { createPromptCache, usageOf } from "./usage.js";

/** What the chat endpoint needs. */
export interface ChatOptions {
  readonly clock: EmulatorClock;
  readonly speed: number;
  readonly script: ChatScript | undefined;
}

interface Completion {
  readonly id: string;
  readonly created: number;
  readonly reply: Reply;
  readonly usage: ReturnType<typeof usageOf>;
}

const MOST_REFUSALS = 1000;

/** `POST /v1/chat/completions`, with what it remembers between requests. */
export function createChat({ clock, speed, script }: ChatOptions) {
  const cache = createPromptCache();
  const refusals = new Map<string, number>();
  let count = 0;

  return { answer, clear };

  async function answer(exchange: Exchange): Promise<Answer> {
    const checked = checkBody(exchange);
    if ("status" in checked) return checked;
    const ask = readAsk(checked.request);
    const refusal = refuse(ask, exchange.text);
    if (refusal) return refusal;

    const completion = complete(ask, exchange);
    return ask.stream ? streamed(completion, ask, exchange) : whole(completion, ask, exchange);
  }

  function complete(ask: Ask, { text, request }: Exchange): Completion {
    const id = `${hash(text)}_${++count}`;
    const reply = withinBudget(draftReply(ask, script), ask, id);
    const { prompt, cached } = cache.read(ask.request, request.headers.get("authorization") ?? "");
    const counts = { prompt, cached, completion: completionTokens(reply), reasoning: reply.reasoning.length };
    const created = Math.floor(clock.now() / 1000);
    return { id: `chatcmpl-${id}`, created, reply, usage: usageOf(ask.family, counts) };
  }

  function streamed({ id, created, reply, usage }: Completion, ask: Ask, { record }: Exchange): Answer {
    const ownChunk = ask.includeUsage ? "after-finish" : "nowhere";
    return eventStream((signal) =>
      writeFrames(
        {
          head: { id, created, model: ask.request.model },
          reply,
          usage,
          usagePlace: ask.family === "alpha" ? ownChunk : "with-finish",
          ending: ask.cues.ending,
          pace: paceOf(speed, ask.cues.names.has("slow")),
          clock,
          record,
        },
        signal,
      ),
    );
  }

  async function whole(completion: Completion, ask: Ask, { request }: Exchange): Promise<Answer> {
    const pace = paceOf(speed, ask.cues.names.has("slow"));
    await pace.waitForAll(clock, completionTokens(completion.reply), request.signal);
    const answer = wholeBody(completion, ask.request.model);
    const text = JSON.stringify(answer);
    const half = text.slice(0, Math.floor(text.length / 2));
    switch (ask.cues.ending) {
      case "stall":
        return untilAborted(request.signal);
      case "error-frame":
        return serverError(midwayError.error.message);
      case "truncate":
        return jsonBody(half);
      case "malformed":
        return jsonBody(text.replace('"choices":[', '"choices":[[,'));
      case "drop":
        return jsonBody(async function* () {
          yield half;
          throw reset();
        });
      default:
        return json(answer);
    }
  }

  /** The scenes that refuse, each body counted on its own. */
  function refuse({ cues }: Ask, text: string): Answer | undefined {
    if (!cues.refusal) return undefined;
    const { status, times } = cues.refusal;
    const key = hash(text);
    const already = refusals.get(key) ?? 0;
    if (already >= times) return undefined;
    refusals.delete(key);
    refusals.set(key, already + 1);
    for (const oldest of refusals.keys()) {
      if (refusals.size <= MOST_REFUSALS) break;
      refusals.delete(oldest);
    }
    return status === 429 ? rateLimited(1) : serverError();
  }

  function clear() {
    cache.clear();
    refusals.clear();
    count = 0;
  }
}

/** The parsed request, or the answer that refuses it by the rules the client checks too. */
function checkBody({ request, text }: Exchange): { readonly request: ChatRequest } | Answer {
  if (!/^application\/json\b/i.test(request.headers.get("content-type") ?? ""))
    return badRequest("The body must be JSON, sent with `Content-Type: application/json`.", "content-type");
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (error) {
    return badRequest(
      `The body is not valid JSON: ${error instanceof Error ? error.message : error}`,
      "body",
    );
  }
  const { issues } = checkChatRequest(body);
  const [first] = issues;
  if (!first) return { request: body as ChatRequest };
  const message = issues.map((issue) => `${issue.path || "body"} ${issue.message}`).join("; ");
  const isUnknownModel =
    first.rule === "chat.model" && typeof (body as { model?: unknown } | null)?.model === "string";
  if (isUnknownModel) {
    const known = Object.keys(chatModels).join(", ");
    return badRequest(`model must be one of ${known}.`, "model", "model_not_found");
  }
  return badRequest(message, first.path);
}

function wholeBody({ id, created, reply, usage }: Completion, model: string) {
  const calls = reply.calls.map(({ id: callId, name, fragments }) => ({
    id: callId,
    type: "function",
    function: { name, arguments: fragments.join("") },
  }));
  const message = {
    role: "assistant",
    content: calls.length > 0 && reply.content.length === 0 ? null : reply.content.join(""),
    reasoning_content: reply.reasoning.length > 0 ? reply.reasoning.join("") : null,
    tool_calls: calls.length > 0 ? calls : null,
  };
  const choices = [{ index: 0, message, finish_reason: reply.finishReason }];
  return { id, object: "chat.completion", created, model, choices, usage };
}
