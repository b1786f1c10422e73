import createInstructor, { type Mode } from "@instructor-ai/instructor";
import OpenAI from "openai";
import { z } from "zod/v3";
import type { ChatCall, Client } from "./client.ts";
import { openAIClient } from "./openai-client.ts";
import { toMessages } from "./rivers.ts";
import { testClient } from "./test-client.ts";

/** The same object as for other clients, in the version of zod that Instructor supports. */
const schema = z.object({ river: z.string().min(3), locks: z.number().int().min(0).max(7) });

testClient("Instructor", (access): Client => {
  const openai = new OpenAI(access);
  const { complete, stream } = openAIClient(openai);

  async function extract({ model, ...call }: ChatCall, mode: Mode) {
    const instructor = createInstructor({ client: openai, mode });
    return await instructor.chat.completions.create({
      model,
      messages: toMessages({ model, ...call }) as OpenAI.ChatCompletionMessageParam[],
      response_model: { schema, name: "River" },
    });
  }

  return {
    // requests without a response model are passed on to `openai`
    complete,
    ...(stream && { stream }),
    bySchema: (call) => extract(call, "JSON_SCHEMA"),
    byTool: (call) => extract(call, "TOOLS"),
    byJSON: (call) => extract({ ...call, system: undefined }, "JSON"),
    byFunctions: (call) => extract(call, "FUNCTIONS"),
  };
});
