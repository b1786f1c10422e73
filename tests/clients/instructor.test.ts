import createInstructor, { type Mode } from "@instructor-ai/instructor";
import OpenAI from "openai";
import { z } from "zod/v3";
import type { Ask, Client } from "./client.ts";
import { openAIClient } from "./openai-client.ts";
import { messagesOf } from "./rivers.ts";
import { testClient } from "./test-client.ts";

/** The object of the others, in the version of zod that it reads. */
const schema = z.object({ river: z.string().min(3), locks: z.number().int().min(0).max(7) });

testClient("Instructor", (access): Client => {
  const openai = new OpenAI(access);
  const { answer, stream } = openAIClient(openai);

  async function extract({ model, ...ask }: Ask, mode: Mode) {
    const instructor = createInstructor({ client: openai, mode });
    return await instructor.chat.completions.create({
      model,
      messages: messagesOf({ model, ...ask }) as OpenAI.ChatCompletionMessageParam[],
      response_model: { schema, name: "River" },
    });
  }

  return {
    // requests without a model of the answer go on to `openai`
    answer,
    ...(stream && { stream }),
    bySchema: (ask) => extract(ask, "JSON_SCHEMA"),
    byTool: (ask) => extract(ask, "TOOLS"),
    byJSON: (ask) => extract({ ...ask, system: undefined }, "JSON"),
    byFunctions: (ask) => extract(ask, "FUNCTIONS"),
  };
});
