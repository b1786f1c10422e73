import type { ChatRequest } from "@sluice/core";
import { checkBody } from "../server/check.js";
import type { EndpointOptions } from "../server/endpoint.js";
import type { Exchange } from "../server/exchange.js";
import { respondJSON } from "../server/failure-mode.js";
import { refuseUnreachable } from "../server/fetch-media.js";
import { hash } from "../server/hash.js";
import { createEventStream, type HandlerResponse } from "../server/http.js";
import { applyBudget, countCompletionTokens, type Reply } from "./budget.js";
import { checkChatRequest } from "./check-request.js";
import { type ChatJob, readChatJob, readImageURLs } from "./job.js";
import { createPace } from "./pace.js";
import { type ChatScript, draftReply } from "./reply.js";
import { writeFrames } from "./stream.js";
import { createPromptCache, toUsage } from "./usage.js";

interface ChatOptions extends EndpointOptions {
  readonly script: ChatScript | undefined;
}

interface Completion {
  readonly id: string;
  readonly created: number;
  readonly reply: Reply;
  readonly usage: ReturnType<typeof toUsage>;
}

/** Creates `POST /v1/chat/completions`, with its prompt cache. */
export function createChat({ clock, speed, refuse, takeFailure, fetchMedia, script }: ChatOptions) {
  const cache = createPromptCache();
  let count = 0;

  return { handle, clear };

  async function handle(exchange: Exchange): Promise<HandlerResponse> {
    const checked = checkBody<ChatRequest>(exchange, checkChatRequest, "chat");
    if ("refusal" in checked) return checked.refusal;
    const job = readChatJob(checked.body, exchange.scripted?.faults);
    const refusal =
      refuse(job.faults, exchange) ?? (await refuseUnreachable(readImageURLs(checked.body), fetchMedia));
    if (refusal) return refusal;

    const completion = await createCompletion(job, exchange);
    return job.stream
      ? streamCompletion(completion, job, exchange)
      : sendCompletion(completion, job, exchange);
  }

  async function createCompletion(job: ChatJob, { text, request, scripted }: Exchange): Promise<Completion> {
    const id = `${hash(text)}_${++count}`;
    const reply = applyBudget(await draftReply(job, script, scripted?.reply), job, id);
    const { prompt, cached } = cache.read(job.request, request.headers.get("authorization") ?? "");
    const counts = {
      prompt,
      cached,
      completion: countCompletionTokens(reply),
      reasoning: reply.reasoning.length,
    };
    const created = Math.floor(clock.now() / 1000);
    return { id: `chatcmpl-${id}`, created, reply, usage: toUsage(job.family, counts) };
  }

  function streamCompletion(
    { id, created, reply, usage }: Completion,
    job: ChatJob,
    exchange: Exchange,
  ): HandlerResponse {
    const failureMode = takeFailure(job.faults, exchange);
    return createEventStream((signal) =>
      writeFrames(
        {
          head: { id, created, model: job.request.model },
          reply,
          usage: job.includeUsage ? usage : undefined,
          failureMode,
          pace: createPace(speed, job.faults.names.has("slow")),
          clock,
          record: exchange.record,
        },
        signal,
      ),
    );
  }

  async function sendCompletion(
    completion: Completion,
    job: ChatJob,
    exchange: Exchange,
  ): Promise<HandlerResponse> {
    const { request } = exchange;
    const pace = createPace(speed, job.faults.names.has("slow"));
    await pace.waitForAll(clock, countCompletionTokens(completion.reply), request.signal);
    const failureMode = takeFailure(job.faults, exchange);
    const finishReason = failureMode === "unconfirmed" ? null : completion.reply.finishReason;
    return respondJSON(toBody(completion, job.request.model, finishReason), failureMode, request.signal);
  }

  function clear() {
    cache.clear();
    count = 0;
  }
}

function toBody({ id, created, reply, usage }: Completion, model: string, finish_reason: string | null) {
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
  const choices = [{ index: 0, message, finish_reason }];
  return { id, object: "chat.completion", created, model, choices, usage };
}
