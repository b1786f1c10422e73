import type { ChatRequest } from "@sluice/core";
import { chatModels, checkChatRequest } from "@sluice/core/schemas";
import { checkBody } from "../check.js";
import type { EmulatorClock } from "../clock.js";
import { jsonEnding } from "../ending.js";
import type { Exchange } from "../exchange.js";
import { hash } from "../hash.js";
import { type Answer, eventStream } from "../http.js";
import type { Refuse } from "../refusals.js";
import { type Ask, readAsk } from "./ask.js";
import { completionTokens, type Reply, withinBudget } from "./budget.js";
import { paceOf } from "./pace.js";
import { type ChatScript, draftReply } from "./reply.js";
import { writeFrames } from "./stream.js";
import { createPromptCache, usageOf } from "./usage.js";

/** What the chat endpoint needs. */
export interface ChatOptions {
  readonly clock: EmulatorClock;
  readonly speed: number;
  readonly refuse: Refuse;
  readonly script: ChatScript | undefined;
}

interface Completion {
  readonly id: string;
  readonly created: number;
  readonly reply: Reply;
  readonly usage: ReturnType<typeof usageOf>;
}

/** `POST /v1/chat/completions`, with what it remembers between requests. */
export function createChat({ clock, speed, refuse, script }: ChatOptions) {
  const cache = createPromptCache();
  let count = 0;

  return { answer, clear };

  async function answer(exchange: Exchange): Promise<Answer> {
    const checked = checkBody<ChatRequest>(exchange, checkChatRequest, chatModels);
    if ("refusal" in checked) return checked.refusal;
    const ask = readAsk(checked.body);
    const refusal = refuse(ask.cues, exchange.text);
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
    return jsonEnding(wholeBody(completion, ask.request.model), ask.cues.ending, request.signal);
  }

  function clear() {
    cache.clear();
    count = 0;
  }
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
