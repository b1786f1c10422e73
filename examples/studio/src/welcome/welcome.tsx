import { ArrowUpRight, Hand, Sparkles, Unplug } from "lucide-react";
import type { ReactNode } from "react";
import { overlay } from "../shell/overlay.js";
import { Button } from "../ui/button.js";
import { Chip } from "../ui/chip.js";
import { ask, promptOf } from "./asks.js";
import { failures } from "./failures.js";
import { AnswerSketch, ApprovalSketch, RetrySketch } from "./sketches.js";

/** The first screen of an empty chat: what this is, and three things to try. */
export function Welcome() {
  return (
    <section aria-label="Welcome" className="m-auto flex w-full max-w-3xl flex-col gap-6 p-4 short:gap-3">
      <div className="flex flex-col items-start gap-2">
        <h2 className="text-2xl font-semibold tracking-tight text-balance">
          Sluice is a TypeScript client for chat, images and video models
        </h2>
        <p className="text-muted">It streams, retries and resumes. This page runs offline and is free.</p>
        <Button look="link" className="-ml-3" onClick={() => overlay.set("readme")}>
          Read the README
          <ArrowUpRight aria-hidden />
        </Button>
      </div>
      <div className="grid gap-4 md:grid-cols-3">
        <Card
          title="Stream and render"
          text="Code, a table and a formula."
          icon={<Sparkles aria-hidden />}
          sketch={<AnswerSketch />}
          onPress={() => ask({ prompt: promptOf("show-me") })}
        />
        <Card
          title="Approve a tool"
          text="The model asks before it acts."
          icon={<Hand aria-hidden />}
          sketch={<ApprovalSketch />}
          onPress={() => ask({ prompt: promptOf("save-note"), needsTools: true })}
        />
        <Card
          title="Break it"
          text="Watch it retry, fail and resume."
          icon={<Unplug aria-hidden />}
          sketch={<RetrySketch />}
        >
          <div className="flex flex-wrap gap-1.5 px-4 pb-4">
            {failures.map(({ label, hint, play }) => (
              <Chip key={label} data-tip={hint} onClick={play}>
                {label}
              </Chip>
            ))}
          </div>
        </Card>
      </div>
    </section>
  );
}

interface CardProps {
  readonly title: string;
  readonly text: string;
  readonly icon: ReactNode;
  readonly sketch: ReactNode;
  /** Makes the whole card one button. */
  readonly onPress?: () => void;
  readonly children?: ReactNode;
}

function Card({ title, text, icon, sketch, onPress, children }: CardProps) {
  return (
    <div className="group relative flex flex-col overflow-hidden rounded-xl border bg-surface transition-colors has-[h3>button:hover]:border-accent">
      <div
        aria-hidden
        className="flex min-h-28 grow flex-col justify-center overflow-hidden border-b bg-canvas p-4 max-md:hidden short:hidden"
      >
        {sketch}
      </div>
      <div className="flex gap-3 p-4">
        <span className="text-accent [&_svg]:size-5">{icon}</span>
        <div>
          <h3 className="font-medium">
            {onPress ? (
              // stretched over the card, so that all of it can be pressed
              <button
                type="button"
                className="after:absolute after:inset-0 after:rounded-xl"
                onClick={onPress}
              >
                {title}
              </button>
            ) : (
              title
            )}
          </h3>
          <p className="text-sm text-muted">{text}</p>
        </div>
      </div>
      {children}
    </div>
  );
}
