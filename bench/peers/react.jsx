import { useChat as useAI } from "@ai-sdk/react";
import { fetchServerSentEvents, useChat as useTanStack } from "@tanstack/ai-react";
import { DefaultChatTransport } from "ai";
import { useLayoutEffect, useMemo } from "react";
import { List, list, pastTexts } from "../pages/list.tsx";

const getRole = (at) => (at % 2 ? "assistant" : "user");
const listTexts = (parts, key) => parts.map((part) => (part.type === "text" ? part[key] : "")).join("");

function AI({ past, address, throttle }) {
  const messages = useMemo(
    () =>
      pastTexts(past).map((text, at) => ({
        id: `past ${at}`,
        role: getRole(at),
        parts: [{ type: "text", text }],
      })),
    [past],
  );
  const transport = useMemo(() => new DefaultChatTransport({ api: `${address}/ui` }), [address]);
  const chat = useAI({ messages, transport, throttle });
  useLayoutEffect(() => {
    list.send = () => chat.sendMessage({ text: "Hello?" });
  }, [chat.sendMessage]);
  return <List messages={chat.messages} readText={({ parts }) => listTexts(parts, "text")} />;
}

function TanStack({ past, address }) {
  const initialMessages = useMemo(
    () =>
      pastTexts(past).map((content, at) => ({
        id: `past ${at}`,
        role: getRole(at),
        parts: [{ type: "text", content }],
      })),
    [past],
  );
  const connection = useMemo(() => fetchServerSentEvents(`${address}/ag-ui`), [address]);
  const chat = useTanStack({ initialMessages, connection });
  useLayoutEffect(() => {
    list.send = () => chat.sendMessage("Hello?");
  }, [chat.sendMessage]);
  return <List messages={chat.messages} readText={({ parts }) => listTexts(parts, "content")} />;
}

export const peers = {
  "AI SDK, throttle 50": (past, address) => <AI past={past} address={address} throttle={50} />,
  "AI SDK": (past, address) => <AI past={past} address={address} />,
  "TanStack AI": (past, address) => <TanStack past={past} address={address} />,
};
