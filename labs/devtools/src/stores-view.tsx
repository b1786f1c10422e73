import type { Client } from "@sluice/core";
import { getHookStores } from "@sluice/react";
import type { ChatStore, ImageStore } from "@sluice/stores";
import { useEffect, useReducer, useSyncExternalStore } from "react";
import type { RecordingSnapshot } from "./recording.js";
import { formatCount, formatDuration } from "./texts.js";

/** Chats and image stores of the hooks, with their state. Texts are not shown. */
export function StoresView({
  client,
  recorded,
}: {
  readonly client: Client;
  readonly recorded: RecordingSnapshot;
}) {
  const [, update] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const { chats, images } = getHookStores(client);
    const subscriptions = [chats.subscribe(update), images.subscribe(update)];
    return () => {
      for (const unsubscribe of subscriptions) unsubscribe();
    };
  }, [client]);
  const { chats, images } = getHookStores(client);
  const allChats = [...chats.entries];
  const allImages = [...images.entries];
  const isEmpty = allChats.length + allImages.length === 0;
  return (
    <>
      {isEmpty && <p>No component has used a chat or images yet.</p>}
      <ul aria-label="Chats and images">
        {allChats.map(([key, { value, holders: componentCount }]) => (
          <ChatView key={getNumber(value)} name={getName(key)} chat={value} componentCount={componentCount} />
        ))}
        {allImages.map(([key, { value, holders: componentCount }]) => (
          <ImagesView
            key={getNumber(value)}
            name={getName(key)}
            images={value}
            componentCount={componentCount}
          />
        ))}
      </ul>
      <ToolRuns tools={recorded.tools} />
    </>
  );
}

function ToolRuns({ tools }: Pick<RecordingSnapshot, "tools">) {
  if (tools.length === 0) return null;
  return (
    <table aria-label="Runs of tools">
      <caption>Runs of tools</caption>
      <tbody>
        {tools.map(({ key, name, chatId, state, ms }) => (
          <tr key={key}>
            <td>{name}</td>
            <td>{state ?? "running"}</td>
            <td>{ms !== undefined && formatDuration(ms)}</td>
            <td>{chatId}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const numbers = new WeakMap<object, number>();
let count = 0;

/** Returns the React key of a store. */
function getNumber(store: object): number {
  if (!numbers.has(store)) numbers.set(store, ++count);
  return numbers.get(store) ?? 0;
}

/** Returns the name of a store. The key of a store without an id is an object of its component. */
function getName(key: unknown): string {
  return typeof key === "string" ? key : "(no id)";
}

interface StoreViewProps {
  readonly name: string;
  readonly componentCount: number;
}

function ChatView({ name, chat, componentCount }: StoreViewProps & { readonly chat: ChatStore }) {
  const { status, messages, queued, pendingActions, persistence } = useSyncExternalStore(
    chat.subscribe,
    chat.getSnapshot,
  );
  const last = messages.at(-1)?.outcome;
  const details = [
    formatCount(messages.length, "message"),
    `${queued.length} queued`,
    pendingActions.length > 0 && `${pendingActions.length} waiting for the user`,
    persistence?.status,
    persistence && persistence.pending > 0 && `${persistence.pending} writes pending`,
    last && `last response ${last}`,
    formatCount(componentCount, "component"),
  ];
  const tools = messages.flatMap(({ toolCalls = [] }) => toolCalls);
  return (
    <li className="body">
      <strong>chat {name}</strong> <span className="outcome">{status}</span>
      <p>{details.filter(Boolean).join(", ")}</p>
      {tools.length > 0 && (
        <ul aria-label="Tools">
          {tools.map(({ id, name: tool, state }) => (
            <li key={id}>
              tool {tool}: {state}
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

function ImagesView({
  name,
  images: store,
  componentCount,
}: StoreViewProps & { readonly images: ImageStore<string> }) {
  const { status, data, failedCount } = useSyncExternalStore(store.subscribe, store.getSnapshot);
  return (
    <li className="body">
      <strong>images {name}</strong> <span className="outcome">{status}</span>
      <p>
        {formatCount(data?.images.length ?? 0, "image")}, {failedCount} failed,{" "}
        {formatCount(componentCount, "component")}
      </p>
    </li>
  );
}
