import type { ChatRequest } from "@sluice/core";
import type { EmulatorClock } from "../base/clock.js";
import { checkBody, type Findings } from "../server/check.js";
import type { Exchange } from "../server/exchange.js";
import { createExpiringMap } from "../server/expiring-map.js";
import { answerJSON } from "../server/failure-mode.js";
import { hash } from "../server/hash.js";
import { type Answer, eventStream } from "../server/http.js";
import { type FetchMedia, refuseUnreachable } from "../server/reach.js";
import type { FailureOf, Refuse } from "../server/refusals.js";
import { completionTokens, type Reply, withinBudget } from "./budget.js";
import { checkForeign } from "./foreign.js";
import { type ChatJob, imageAddressesOf, readChatJob } from "./job.js";
import { paceOf } from "./pace.js";
import { type ChatScript, draftReply } from "./reply.js";
import { writeFrames } from "./stream.js";
import { strictIssues } from "./strict.js";
import { createPromptCache, usageOf } from "./usage.js";

/** Parts that the chat endpoint uses. */
export interface ChatOptions {
  readonly clock: EmulatorClock;
  readonly speed: number;
  readonly refuse: Refuse;
  readonly failureOf: FailureOf;
  readonly fetchMedia: FetchMedia | undefined;
  readonly script: ChatScript | undefined;
}

const MOST_REASONINGS = 2000;

interface Completion {
  readonly id: string;
  readonly created: number;
  readonly reply: Reply;
  readonly usage: ReturnType<typeof usageOf>;
}

/** Creates `POST /v1/chat/completions`, with its prompt cache. */
export function createChat({ clock, speed, refuse, failureOf, fetchMedia, script }: ChatOptions) {
  const cache = createPromptCache();
  /** Thinking of each answer with tool calls, by the id of its first call. */
  const reasonings = createExpiringMap<string>({ clock, most: MOST_REASONINGS, state: undefined, name: "" });
  let count = 0;

  return { answer, clear };

  async function answer(exchange: Exchange): Promise<Answer> {
    const checked = checkBody<ChatRequest>(exchange, check, "chat");
    if ("refusal" in checked) return checked.refusal;
    const job = readChatJob(checked.body, exchange.scripted?.faults);
    const refusal =
      refuse(job.faults, exchange) ??
      (await refuseUnreachable(imageAddressesOf(checked.body), fetchMedia, exchange));
    if (refusal) return refusal;

    const completion = await complete(job, exchange);
    return job.stream ? streamed(completion, job, exchange) : whole(completion, job, exchange);
  }

  function check(body: unknown): Findings {
    const { issues, warnings } = checkForeign(body);
    if (issues.length > 0) return { issues, warnings };
    const strict = strictIssues(body as ChatRequest, (id) => reasonings.get(id));
    return { issues, warnings: [...warnings, ...strict] };
  }

  async function complete(job: ChatJob, { text, request, scripted }: Exchange): Promise<Completion> {
    const id = `${hash(text)}_${++count}`;
    const reply = withinBudget(await draftReply(job, script, scripted?.reply), job, id);
    const [call] = reply.calls;
    if (call) reasonings.set(call.id, reply.reasoning.join(""));
    const { prompt, cached } = cache.read(job.request, request.headers.get("authorization") ?? "");
    const counts = { prompt, cached, completion: completionTokens(reply), reasoning: reply.reasoning.length };
    const created = Math.floor(clock.now() / 1000);
    return { id: `chatcmpl-${id}`, created, reply, usage: usageOf(job.family, counts) };
  }

  function streamed({ id, created, reply, usage }: Completion, job: ChatJob, exchange: Exchange): Answer {
    const failureMode = failureOf(job.faults, exchange);
    return eventStream((signal) =>
      writeFrames(
        {
          head: { id, created, model: job.request.model },
          reply,
          usage: job.includeUsage ? usage : undefined,
          failureMode,
          pace: paceOf(speed, job.faults.names.has("slow")),
          clock,
          record: exchange.record,
        },
        signal,
      ),
    );
  }

  async function whole(completion: Completion, job: ChatJob, exchange: Exchange): Promise<Answer> {
    const { request } = exchange;
    const pace = paceOf(speed, job.faults.names.has("slow"));
    await pace.waitForAll(clock, completionTokens(completion.reply), request.signal);
    const failureMode = failureOf(job.faults, exchange);
    const finishReason = failureMode === "unconfirmed" ? null : completion.reply.finishReason;
    return answerJSON(wholeBody(completion, job.request.model, finishReason), failureMode, request.signal);
  }

  function clear() {
    cache.clear();
    reasonings.clear();
    count = 0;
  }
}

function wholeBody({ id, created, reply, usage }: Completion, model: string, finish_reason: string | null) {
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
