import type OpenAI from "openai";
import OpenAI4 from "openai-4";
import { openAIClient } from "./openai-client.ts";
import { testClient } from "./test-client.ts";

testClient("openai 4", (access) => {
  const openai = new OpenAI4(access);
  const { stream, parse, runTools } = openai.beta.chat.completions;
  const { beta, responses, images, models } = openai;
  // methods that later versions moved out of `beta`
  const completions = {
    create: openai.chat.completions.create.bind(openai.chat.completions),
    stream: stream.bind(beta.chat.completions),
    parse: parse.bind(beta.chat.completions),
    runTools: runTools.bind(beta.chat.completions),
  };
  return openAIClient({ chat: { completions }, responses, images, models } as unknown as OpenAI);
});
