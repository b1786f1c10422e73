import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { aiSDKClient } from "./ai-sdk-client.ts";
import { testClient } from "./test-client.ts";

testClient("AI SDK, openai-compatible", (access) => {
  const settings = { ...access, name: "gateway", includeUsage: true };
  const provider = createOpenAICompatible({ ...settings, supportsStructuredOutputs: true });
  const client = aiSDKClient({ chat: provider, image: provider.imageModel });
  // JSON mode is what it asks for without the setting
  const { byJSON } = aiSDKClient({ chat: createOpenAICompatible(settings), image: provider.imageModel });
  return { ...client, ...(byJSON && { byJSON }) };
});
