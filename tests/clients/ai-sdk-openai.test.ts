import { createOpenAI } from "@ai-sdk/openai";
import { generateText } from "ai";
import { aiSDKClient } from "./ai-sdk-client.ts";
import { testClient } from "./test-client.ts";

testClient("AI SDK, openai", (access) => {
  const openai = createOpenAI(access);
  return {
    ...aiSDKClient({ chat: openai.chat, image: openai.image }),
    // what `openai(model)` does
    respond: async ({ model, turns }) => generateText({ model: openai(model), prompt: turns[0]?.text ?? "" }),
  };
});
