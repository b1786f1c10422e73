import { type Fault, playFault } from "@sluice/devtools/production";
import { Hand, Play, Unplug } from "lucide-react";
import { Button, Chip, onPressOnce } from "@/components/sluice/button";
import manifest from "../../../package.json";
import { demoPrompts } from "../demo/prompts.js";
import { client, firstChunk } from "./client.js";
import { Recording } from "./recording.js";
import { inspectorTab, pendingQuestion } from "./state.js";

/** URL of the repository. Undefined until a release has set it. */
const source = (manifest as { repository?: { url: string } }).repository?.url.replace(/^git\+|\.git$/g, "");
const docs = import.meta.env.VITE_DOCS || (source && `${source}/tree/main/docs`);
const links = Object.entries({ Docs: docs, Source: source });

const findPrompt = (id: string) => demoPrompts.find((one) => one.id === id)?.prompt ?? "";
interface FaultButton {
  readonly fault: Fault;
  readonly label: string;
  readonly hint: string;
}

/** Faults of the inspector that the first screen plays. */
const faults: readonly FaultButton[] = [
  { fault: "rate-limit", label: "429", hint: "The gateway refuses once, and the client retries" },
  { fault: "cut", label: "Cut", hint: "The stream breaks off, and goes on" },
  { fault: "stall", label: "Stall", hint: "The stream falls silent, and goes on after 10 seconds" },
  { fault: "lost-response", label: "Lost response", hint: "The request arrives, the response is lost" },
  { fault: "offline", label: "Offline", hint: "No network for 4 seconds" },
];

/** Milliseconds without a network. */
const OFFLINE_MS = 4000;

/** Sends a question and plays a fault on it. The inspector shows the attempts. */
function playOn({ fault, label }: FaultButton): void {
  inspectorTab.set("Calls");
  if (fault === "offline") goOfflineAfterFirstChunk();
  else playFault(client, fault);
  ask(findPrompt("show-me"), label);
}

function goOfflineAfterFirstChunk(): void {
  const unsubscribe = firstChunk.listen(() => {
    unsubscribe();
    playFault(client, "offline");
    setTimeout(() => playFault(client, undefined), OFFLINE_MS);
  });
}

/** Asks a question in the new chat. The label is the start of its title. */
function ask(text: string, label?: string): void {
  pendingQuestion.set({ text, ...(label && { label }) });
}

/** The first screen of a new chat: what this is, and one thing to press. */
export function Welcome() {
  return (
    <section aria-label="Welcome" className="m-auto flex w-full max-w-3xl flex-col items-start gap-6 p-4">
      <div className="flex flex-col gap-2">
        <h2 className="text-2xl font-semibold tracking-tight text-balance">
          Sluice is a TypeScript client for chat, images and video models
        </h2>
        <p className="text-muted-foreground">
          It streams, retries and resumes.
          {!import.meta.env.VITE_GATEWAY && " This page runs offline and is free."}
        </p>
      </div>
      <div className="flex flex-wrap gap-2">
        <Button look="primary" {...onPressOnce(() => ask(findPrompt("show-me")))}>
          <Play aria-hidden />
          Stream a response
        </Button>
        <Button {...onPressOnce(() => ask(findPrompt("save-note")))}>
          <Hand aria-hidden />
          Approve a tool
        </Button>
      </div>
      <Recording />
      <fieldset aria-label="Break it" className="flex flex-wrap items-center gap-1.5">
        <span className="flex items-center gap-2 pr-2 text-sm text-muted-foreground">
          <Unplug aria-hidden className="size-4" />
          Break it
        </span>
        {faults.map((button) => (
          <Chip key={button.fault} data-tip={button.hint} {...onPressOnce(() => playOn(button))}>
            {button.label}
          </Chip>
        ))}
        <Chip
          data-tip="Both tabs share the chats"
          {...onPressOnce(() => void open(location.href, "_blank", "noopener"))}
        >
          Second tab
        </Chip>
      </fieldset>
      <p className="flex gap-4 text-sm">
        {links.map(
          ([label, href]) =>
            href && (
              <a
                key={label}
                href={href}
                target="_blank"
                rel="noreferrer"
                className="underline underline-offset-4"
              >
                {label}
              </a>
            ),
        )}
      </p>
    </section>
  );
}
