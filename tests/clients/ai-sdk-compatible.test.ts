import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { aiSDKClient } from "./ai-sdk-client.ts";
import { testClient } from "./test-client.ts";

testClient("AI SDK, openai-compatible", (access) => {
  const settings = { ...access, name: "gateway", includeUsage: true };
  const provider = createOpenAICompatible({ ...settings, supportsStructuredOutputs: true });
  const client = aiSDKClient({ chat: provider, image: provider.imageModel });
  // without the setting it requests JSON mode
  const { byJSON } = aiSDKClient({ chat: createOpenAICompatible(settings), image: provider.imageModel });
  return { ...client, ...(byJSON && { byJSON }) };
});
