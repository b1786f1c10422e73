import { useStore } from "@nanostores/react";
import type { Fault } from "@sluice/devtools/production";
import { Hand, Play, Unplug } from "lucide-react";
import { useLayoutEffect, useRef } from "react";
import { Button, Chip, onPressOnce } from "@/components/sluice/button";
import { Composer } from "@/components/sluice/composer";
import { Recording } from "../demo/recording.js";
import { useRoute } from "./rooms.js";
import { inspectorTab, pendingQuestion, takeFocus, useChatDraft } from "./state.js";

const source = import.meta.env.VITE_SOURCE;
const links = Object.entries({
  Docs: import.meta.env.VITE_DOCS || (source && `${source}/tree/main/docs`),
  Source: source,
});

/** Prompts that have a response in the demo. */
const prompts = {
  example: "Show me what you can do",
  tool: 'Keep a note: "Ask the lock keeper about the upper gate"',
};

/** Faults of the inspector that the first screen plays. */
const faults: readonly { fault: Fault; label: string; hint: string }[] = [
  { fault: "rate-limit", label: "429", hint: "The gateway refuses once, and the client retries" },
  { fault: "cut", label: "Cut", hint: "The stream breaks off, and continues" },
  { fault: "stall", label: "Stall", hint: "The stream falls silent, and continues after 10 seconds" },
  { fault: "lost-response", label: "Lost response", hint: "The request arrives, the response is lost" },
  { fault: "offline", label: "Offline", hint: "No network for 4 seconds" },
];

/** The chat before its scripts have loaded. It keeps what the user writes and sends. */
export function FirstScreen() {
  const { id } = useRoute();
  const { draft, setDraft, clearDraft } = useChatDraft(id);
  const question = useStore(pendingQuestion);
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => takeFocus(field.current), []);
  return (
    <div className="flex min-h-0 grow">
      <div className="w-60 shrink-0 border-e bg-muted max-md:hidden" />
      <div className="flex min-w-0 grow flex-col">
        {/* the room has its title here */}
        <div className="h-12 shrink-0 short:h-8" />
        <div className="flex min-h-0 grow flex-col overflow-y-auto">{id === undefined && <Welcome />}</div>
        {question && (
          <p dir="auto" className="animate-pulse truncate px-4 py-2 text-sm">
            {question.text.slice(0, 300)}
          </p>
        )}
        <Composer
          field={field}
          text={draft}
          onText={setDraft}
          onSend={() => {
            pendingQuestion.set({ text: draft });
            clearDraft();
          }}
          isBusy={question !== undefined}
          isBlocked={question !== undefined}
          onStop={() => {
            setDraft((later) => [question?.text, later].filter(Boolean).join("\n\n"));
            pendingQuestion.set(undefined);
          }}
        />
      </div>
    </div>
  );
}

/** An empty chat: what this is, and one thing to press. */
export function Welcome() {
  return (
    <section aria-label="Welcome" className="m-auto flex w-full max-w-3xl flex-col items-start gap-4 p-4">
      <div className="flex flex-col gap-2">
        <h2 className="text-2xl font-semibold tracking-tight text-balance">
          Sluice is a TypeScript client for chat, images and video models
        </h2>
        <p className="text-muted-foreground">
          It streams, retries and resumes.
          {!import.meta.env.VITE_GATEWAY && " This page runs offline, with play money."}
        </p>
      </div>
      <div className="flex flex-wrap gap-2">
        <Button variant="primary" {...onPressOnce(() => pendingQuestion.set({ text: prompts.example }))}>
          <Play aria-hidden />
          Stream a response
        </Button>
        <Button {...onPressOnce(() => pendingQuestion.set({ text: prompts.tool }))}>
          <Hand aria-hidden />
          Approve a tool
        </Button>
      </div>
      <Recording />
      <fieldset aria-label="Break it" className="flex flex-wrap items-center gap-1.5">
        <span className="flex items-center gap-2 pe-2 text-sm text-muted-foreground">
          <Unplug aria-hidden className="size-4" />
          Break it
        </span>
        {faults.map(({ fault, label, hint }) => (
          <Chip
            key={fault}
            data-tip={hint}
            {...onPressOnce(() => {
              inspectorTab.set("Calls");
              pendingQuestion.set({ text: prompts.example, label, fault });
            })}
          >
            {label}
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
