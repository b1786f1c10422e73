import {
  Agent,
  MaxTurnsExceededError,
  OpenAIProvider,
  Runner,
  setTracingDisabled,
  tool,
} from "@openai/agents";
import OpenAI from "openai";
import { API_KEY, type FaultReader, LIMIT_MS, MODEL, PROMPT, toolNames } from "../reader.ts";
import type { Call } from "../reading.ts";

export function readByAgents(): FaultReader {
  // traces would go to their maker
  setTracingDisabled(true);
  function open(baseURL: string) {
    const toolCalls: Call[] = [];
    const agent = new Agent({
      name: "Guide",
      model: MODEL,
      tools: toolNames.map((name) =>
        tool({
          name,
          description: name,
          strict: false,
          parameters: { type: "object", properties: {}, required: [], additionalProperties: true },
          execute: async (input) => {
            toolCalls.push({ name, arguments: input });
            return "done";
          },
        }),
      ),
    });
    const openAIClient = new OpenAI({ baseURL: `${baseURL}/v1`, apiKey: API_KEY, timeout: LIMIT_MS });
    const modelProvider = new OpenAIProvider({ openAIClient: openAIClient as never, useResponses: false });
    return { toolCalls, agent, runner: new Runner({ modelProvider }) };
  }
  // one turn: a second request would get the same response
  const options = { maxTurns: 1 };
  const expectTurnsExceeded = (error: unknown) => {
    if (!(error instanceof MaxTurnsExceededError)) throw error;
  };
  return {
    packages: ["@openai/agents"],
    async stream(baseURL) {
      const { runner, agent, toolCalls } = open(baseURL);
      let text = "";
      const result = await runner.run(agent, PROMPT, { ...options, stream: true });
      try {
        for await (const piece of result.toTextStream()) text += piece;
        await result.completed;
        if (result.error) throw result.error;
      } catch (error) {
        expectTurnsExceeded(error);
      }
      return { text, toolCalls };
    },
    async complete(baseURL) {
      const { runner, agent, toolCalls } = open(baseURL);
      const done = await runner.run(agent, PROMPT, options).catch(expectTurnsExceeded);
      return { text: done?.finalOutput ?? "", toolCalls };
    },
  };
}
