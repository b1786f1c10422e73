import type { JSONObject, LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { ChatRequest, Client } from "@sluice/core";
import type { ModelMessage } from "ai";
import { NAME } from "../base/provider-options.js";
import { toRequest } from "../chat/request.js";
import type { ChatTransportOptions } from "./options.js";
import { toDefinitions } from "./tools.js";

/**
 * Creates the request of a chat. The `body` of a message overrides the transport's options. A setting that the model
 * lacks becomes a warning of the client.
 */
export async function createChatRequest(
  client: Client,
  { model: defaultModel, instructions, params, tools = {} }: ChatTransportOptions,
  messages: readonly ModelMessage[],
  body: object = {},
): Promise<{ body: ChatRequest; checks: boolean }> {
  const { model = defaultModel, ...fields } = body as { readonly model?: string };
  const content = typeof instructions === "function" ? await instructions() : instructions;
  const system = content ? [{ role: "system", content }] : [];
  const { warnings, ...request } = await toRequest(
    client,
    model,
    {
      // messages converted from a page's parts have the shape of a prompt
      prompt: [...system, ...messages] as LanguageModelV4Prompt,
      tools: await toDefinitions(tools),
      providerOptions: { [NAME]: { ...params, ...fields } as JSONObject },
    },
    true,
  );
  for (const warning of warnings)
    if ("feature" in warning)
      client.warn({
        path: warning.feature,
        message: warning.details ?? "is not a setting of this model: it was left out",
        rule: `ai-sdk.${warning.type}`,
      });
  return request;
}
