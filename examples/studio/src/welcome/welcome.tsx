import clsx from "clsx";
import { ArrowUpRight, Hand, Sparkles, Unplug } from "lucide-react";
import type { ReactNode } from "react";
import { Button, Chip, onPressOnce } from "@/components/sluice/button";
import { CopyButton } from "@/components/sluice/copy-button";
import manifest from "../../../../package.json";
import { isDemo } from "../server.js";
import { overlay } from "../shell/commands.js";
import { UNRELEASED, welcomeWords } from "../words.js";
import { ask, failures, offered, promptOf } from "./asks.js";

/** Address of the repository; undefined until a release has written it. */
const source = (manifest as { repository?: { url: string } }).repository?.url.replace(/^git\+|\.git$/g, "");
const docs = import.meta.env.VITE_DOCS || (source && `${source}/tree/main/docs`);
/** Pages elsewhere. */
const links = [
  ["Docs", docs],
  ["Source", source],
] as const;

/** Questions below the cards, in one row. */
const questions = ["debounce", "quadratic", "canal-lock", "sql-nosql", "small-steps"];

/** The first screen of an empty chat: what this is, and things to try. */
export function Welcome() {
  return (
    <section
      aria-label="Welcome"
      className="@container m-auto flex w-full max-w-3xl flex-col gap-6 p-4 short:gap-3"
    >
      <div className="flex flex-col items-start gap-2">
        <h2 className="text-2xl font-semibold tracking-tight text-balance">
          Sluice is a TypeScript client for chat, images and video models
        </h2>
        <p className="text-muted">{welcomeWords(isDemo)}</p>
        <Links />
        <Install />
      </div>
      <div className="grid gap-4 @xl:grid-cols-3">
        <Card
          title="Stream and render"
          text="Code, a table and a formula."
          icon={<Sparkles aria-hidden />}
          sketch={<AnswerSketch />}
          onPress={() => void ask({ prompt: promptOf("show-me") })}
        />
        <Card
          title="Approve a tool"
          text="The model asks before it acts."
          icon={<Hand aria-hidden />}
          sketch={<ApprovalSketch />}
          onPress={() => void ask({ prompt: promptOf("save-note"), needsTools: true })}
        />
        <Card
          title="Break it"
          text="Watch it retry, fail and resume."
          icon={<Unplug aria-hidden />}
          sketch={<RetrySketch />}
        >
          <div className="flex flex-wrap gap-1.5 px-4 pb-4">
            {failures.map(({ label, hint, play }) => (
              <Chip key={label} data-tip={hint} {...onPressOnce(play)}>
                {label}
              </Chip>
            ))}
          </div>
        </Card>
      </div>
      <ul aria-label="Questions to ask" className="flex flex-wrap gap-1.5 @max-xl:hidden short:hidden">
        {offered
          .filter(({ id }) => questions.includes(id))
          .map(({ id, title, prompt }) => (
            <li key={id} className="shrink-0">
              <Chip data-tip={prompt} {...onPressOnce(() => void ask({ prompt }))}>
                {title}
              </Chip>
            </li>
          ))}
      </ul>
    </section>
  );
}

/** The ways to read on. The README is in the page; the docs are beside it in their site. */
function Links() {
  const look = "control inline-flex items-center gap-2 rounded-lg px-3 text-sm font-medium text-accent";
  return (
    <div className="-ml-3 flex flex-wrap">
      <Button look="link" onClick={() => overlay.set("readme")}>
        README
      </Button>
      {links.map(
        ([label, href]) =>
          href && (
            <a
              key={label}
              href={href}
              target="_blank"
              rel="noreferrer"
              className={clsx(look, "hover:bg-hover")}
            >
              {label}
              <ArrowUpRight aria-hidden className="size-4" />
            </a>
          ),
      )}
    </div>
  );
}

const install = "npm install @sluice/core @sluice/react";

/** The line that installs the packages. */
function Install() {
  return (
    <div className="flex w-full flex-wrap items-center gap-x-3 gap-y-1 text-xs text-muted short:hidden">
      <span className="flex max-w-full items-center rounded-lg border bg-surface pl-3">
        <code className="py-1 font-mono text-ink">{install}</code>
        <CopyButton text={install} label="Copy the install line" />
      </span>
      {UNRELEASED}
    </div>
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
        className="flex h-28 shrink-0 flex-col justify-center overflow-hidden border-b bg-canvas p-4 @max-xl:hidden short:hidden"
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
                className="text-start after:absolute after:inset-0 after:rounded-xl"
                {...onPressOnce(onPress)}
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

/** Bars in place of words, each with its width and colour. */
function Bars({ bars }: { readonly bars: readonly string[] }) {
  return bars.map((bar) => <span key={bar} className={clsx("h-1.5 rounded-full", bar)} />);
}

/** Drawing of an answer with code and a formula. */
function AnswerSketch() {
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-col gap-1.5 rounded-lg bg-sunken p-2">
        <div className="flex gap-1.5">
          <Bars bars={["w-8 bg-accent", "w-14 bg-edge", "w-6 bg-warn"]} />
        </div>
        <div className="flex gap-1.5 pl-3">
          <Bars bars={["w-10 bg-edge", "w-12 bg-accent/60", "w-4 bg-edge/60"]} />
        </div>
        <div className="flex gap-1.5 pl-3">
          <Bars bars={["w-6 bg-warn", "w-16 bg-edge"]} />
        </div>
      </div>
      <p className="text-center font-serif text-sm whitespace-nowrap italic">
        x = (−b ± √<span className="border-t border-ink">b² − 4ac</span>) / 2a
      </p>
    </div>
  );
}

/** Drawing of a tool that waits for approval. */
function ApprovalSketch() {
  return (
    <div className="flex flex-col gap-3 rounded-lg border bg-surface p-3">
      <span className="font-mono text-xs">save_note(…)</span>
      <div className="flex gap-2 text-xs font-medium">
        <span className="rounded-md bg-accent px-2 py-1 text-on-accent">Approve</span>
        <span className="rounded-md border px-2 py-1">Deny</span>
      </div>
    </div>
  );
}

/** Drawing of two attempts that fail, and one that works. */
function RetrySketch() {
  return (
    <div className="flex flex-col gap-2 pt-1 font-mono text-xs">
      {[
        { label: "429", bar: "w-1/4 bg-danger" },
        { label: "429", bar: "ml-[35%] w-1/4 bg-danger" },
        { label: "200", bar: "ml-[70%] w-[30%] bg-accent" },
      ].map(({ label, bar }) => (
        <div key={bar} className="flex items-center gap-2">
          <span className="w-7 text-muted">{label}</span>
          <span className="grow">
            <span className={clsx("block h-2 rounded-full", bar)} />
          </span>
        </div>
      ))}
    </div>
  );
}
