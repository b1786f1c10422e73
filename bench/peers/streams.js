import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { fetchServerSentEvents } from "@tanstack/ai-react";
import { streamText as streamAI } from "ai";
import { createParser } from "eventsource-parser";
import OpenAI from "openai";
import { streamText as streamXsai } from "xsai";
import { sendRequest } from "../subjects.ts";

/*
 * The other clients, each as its manual shows it, with its default settings.
 */

const model = "delta-5.3";
const messages = [{ role: "user", content: "Hi" }];

export const peers = {
  "eventsource-parser + JSON.parse": async (gateway, onPiece) => {
    const decoder = new TextDecoder();
    const parser = createParser({
      onEvent({ data }) {
        if (data !== "[DONE]") onPiece(JSON.parse(data));
      },
    });
    const reader = (await sendRequest(gateway)).body.getReader();
    for (let read = await reader.read(); !read.done; read = await reader.read())
      parser.feed(decoder.decode(read.value, { stream: true }));
  },
  "TanStack AI": async ({ baseURL, fetch }, onPiece) => {
    const connection = fetchServerSentEvents(`${baseURL}/v1/chat/completions`, { fetchClient: fetch });
    for await (const _ of connection.connect([], {})) onPiece();
  },
  xsai: async ({ baseURL, fetch }, onPiece) => {
    const { textStream } = streamXsai({ baseURL: `${baseURL}/v1/`, apiKey: "key", model, messages, fetch });
    for await (const _ of textStream) onPiece();
  },
  openai: async ({ baseURL, fetch }, onPiece) => {
    const client = new OpenAI({
      baseURL: `${baseURL}/v1`,
      apiKey: "key",
      fetch,
      dangerouslyAllowBrowser: true,
    });
    const stream = await client.chat.completions.create({ model, messages, stream: true });
    for await (const _ of stream) onPiece();
  },
  "AI SDK": async ({ baseURL, fetch }, onPiece) => {
    const provider = createOpenAICompatible({
      name: "bench",
      baseURL: `${baseURL}/v1`,
      apiKey: "key",
      fetch,
    });
    const { textStream } = streamAI({ model: provider(model), messages });
    for await (const _ of textStream) onPiece();
  },
};
