import { createClient, streamResumption } from "@sluice/core";
import {
  type ChatMessage,
  describeError,
  GatewayProvider,
  signOut,
  useChatStream,
  useConversations,
} from "@sluice/react";
import { remoteStorage, serverRunner } from "@sluice/sync";
import type { ComponentProps, SubmitEvent } from "react";
import { createRoot } from "react-dom/client";

// a stand-in for your sign-in: a name, which the server believes
const name = localStorage.getItem("name") ?? "";
const user = encodeURIComponent(name);
const headers = { authorization: `Bearer ${user}` };
const client = createClient({
  baseURL: location.origin,
  user: user || "nobody",
  headers,
  resume: streamResumption(),
});
const storage = remoteStorage(client);
const runner = serverRunner();

async function signInAs(next: string) {
  if (next === "") await signOut(client);
  localStorage.setItem("name", next);
  location.assign("/");
}

function App() {
  const id = location.hash.slice(1);
  const { conversations, create } = useConversations({ storage, activeId: id || undefined });
  return (
    <main>
      {name}, {navigator.onLine ? "online" : "offline"} <Button onClick={() => signInAs("")}>Sign out</Button>
      <nav aria-label="Conversations">
        <Button onClick={() => location.assign(`#${create()}`)}>New chat</Button>
        {conversations.map(({ id, title }) => (
          <a key={id} href={`#${id}`}>
            {title}
          </a>
        ))}
      </nav>
      {id && <Chat key={id} id={id} />}
    </main>
  );
}

function Chat({ id }: { id: string }) {
  // the server asks the model and runs the tools: this page may close
  const chat = useChatStream({ id, model: "delta-5.3", storage, runner });
  const { messages, pendingActions, status, isSyncing, isRunningElsewhere } = chat;
  const isBusy = status === "submitted" || status === "streaming" || isRunningElsewhere;
  const last = messages.at(-1);
  const error = chat.error ?? chat.syncError ?? last?.error;
  return (
    <>
      <ol aria-label="Messages">{messages.map(showMessage)}</ol>
      {pendingActions.map(({ toolCallId, name, input }) => (
        <p key={toolCallId}>
          {name} {JSON.stringify(input)} <Button onClick={() => chat.approve(toolCallId)}>Approve</Button>
          <Button onClick={() => chat.deny(toolCallId)}>Deny</Button>
        </p>
      ))}
      <p role="status">{isBusy ? "Working on the server" : isSyncing && "Not sent yet"}</p>
      {error && <p role="alert">{describeError(error).title}</p>}
      {!isBusy && last?.role === "user" && <Button onClick={() => chat.retry()}>Try again</Button>}
      <form onSubmit={submit(chat.send)}>
        <input name="text" aria-label="Message" required />
        <button type="submit" disabled={isBusy}>
          Send
        </button>
        {isBusy && <Button onClick={chat.stop}>Stop</Button>}
      </form>
    </>
  );
}

function showMessage({ id, origin, role, content, toolCalls, images }: ChatMessage) {
  return (
    <li key={id}>
      <small>{`${role}, ${origin ?? "this device"}`}</small>
      <p dir="auto">{content}</p>
      {toolCalls?.map(({ id, name, state }) => (
        <p key={id}>{`${name}: ${state}`}</p>
      ))}
      {images?.map((url) => (
        <img key={url} src={url} alt="Made on the server" />
      ))}
    </li>
  );
}

function SignIn() {
  return (
    <form onSubmit={submit(signInAs)}>
      <input name="text" aria-label="Name" required /> <button type="submit">Sign in</button>
      <p>There is no password: anybody can be Ada. Your app has its own sign-in.</p>
    </form>
  );
}

const submit = (use: (text: string) => unknown) => (event: SubmitEvent<HTMLFormElement>) => {
  event.preventDefault();
  void use(String(new FormData(event.currentTarget).get("text")));
  event.currentTarget.reset();
};

const Button = (props: ComponentProps<"button">) => <button type="button" {...props} />;

const root = createRoot(document.getElementById("root") as HTMLElement);
const render = () =>
  root.render(<GatewayProvider client={client}>{name ? <App /> : <SignIn />}</GatewayProvider>);
for (const event of ["hashchange", "online", "offline"]) addEventListener(event, render);
render();
