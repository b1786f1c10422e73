import { useStore } from "@nanostores/react";
import { type ErrorMessages, errorMessages } from "@sluice/react";
import clsx from "clsx";
import { CircleAlert, Sparkles } from "lucide-react";
import {
  type ComponentProps,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useId,
  useRef,
} from "react";
import { Button, onPressOnce } from "@/components/sluice/button";
import { directionOf } from "@/components/sluice/field-text";
import { modelName } from "@/components/sluice/format";
import { useLeaveWarning } from "@/components/sluice/use-leave-warning";
import { sceneOf, scenes } from "../../demo/media/art/scenes.js";
import { type DemoPrompt, demoPrompts } from "../../demo/prompts.js";
import { useDescription } from "../errors.js";
import { drawingWords, NOTHING_BILLED, TOO_LARGE, UNSAVED } from "../room-words.js";
import { isDemo, isOfOffline } from "../server.js";
import { RoomHeader } from "../shell/bars.js";
import { Select } from "../ui/popups.js";
import { unsavedLists } from "./collection.js";
import { filesInReading } from "./files.js";
import { Problem } from "./sources.js";
import type { FormControls, MediaDraft, MediaForm } from "./use-media-form.js";

/** Moves the focus to the first field that is wrong, when React has marked it. */
export function focusProblem(around: HTMLElement | null): void {
  requestAnimationFrame(() => {
    const wrong = around?.querySelector<HTMLElement>("[aria-invalid=true], button[data-invalid]");
    wrong?.focus();
  });
}

/** Moves the focus to the item that takes the place of one that went away with it, when React has taken it out. */
export function focusPlace(list: HTMLElement | null, at: number): void {
  requestAnimationFrame(() => {
    if (document.activeElement !== document.body) return;
    const item = list?.children[Math.min(at, list.children.length - 1)];
    // the last item of a room takes its list away
    const room = document.querySelector("main");
    (item ?? room)?.querySelector<HTMLElement>("button, textarea")?.focus();
  });
}

/** The form of a media room, and what happens to it: it is filled, sent, and has the focus where a button goes away. */
export function useMediaRoom<Model extends string>(
  form: MediaForm<Model>,
  isBusy: boolean,
  start: (draft: MediaDraft<Model>) => void,
) {
  const region = useRef<HTMLElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const isReading = useStore(filesInReading) > 0;
  /** Fills the form, and shows it. */
  const fill = (draft: MediaDraft<Model>) => {
    form.fill(draft);
    region.current?.scrollIntoView({ block: "end", behavior: "smooth" });
  };
  return {
    region,
    button,
    fill,
    submit() {
      if (isBusy || isReading) return;
      if (form.check()) start({ model: form.model, values: form.values });
      else focusProblem(region.current);
    },
    /** Sends a form; `shown` stays for the next request. */
    fillAndStart(draft: MediaDraft<Model>, shown = draft) {
      fill(shown);
      if (!isBusy) start(draft);
    },
    /** Before a button goes, the focus moves to the one that stays. */
    focusButton: () => button.current?.focus(),
  };
}

interface MediaRoomProps {
  readonly title: string;
  /** Props that let the room take files that are dropped on it. */
  readonly dropProps: ComponentProps<"div">;
  readonly composer: ReactNode;
  /** The request that failed last. */
  readonly failure: FailureProps | undefined;
  readonly children: ReactNode;
}

/** The frame of a media room: the form, why the last request failed, and what was made. */
export function MediaRoom({ title, dropProps, composer, failure, children }: MediaRoomProps) {
  return (
    <>
      <RoomHeader title={title} />
      <div {...dropProps} className="grow overflow-y-auto">
        <div className="mx-auto flex max-w-6xl flex-col gap-6 p-4 md:p-6">
          <Unsaved />
          {composer}
          {failure && <Failure {...failure} />}
          {children}
        </div>
      </div>
    </>
  );
}

/** Says that something of a media room is not in the storage. It goes by itself when all is. */
export function Unsaved() {
  const isFailing = useStore(unsavedLists).size > 0;
  useLeaveWarning(isFailing);
  return (
    <div role="status" className="-mb-6 text-center text-xs">
      {isFailing && (
        <p className="pb-3">
          <span className="text-warn">{UNSAVED.title}</span>{" "}
          <span className="text-muted">{UNSAVED.hint}</span>
        </p>
      )}
    </div>
  );
}

interface ComposerBoxProps {
  /** Name of the form. */
  readonly label: string;
  readonly region: RefObject<HTMLElement | null>;
  /** True while files are held over it. */
  readonly isOver?: boolean;
  readonly children: ReactNode;
}

/** The box around the form of a media room. */
export function ComposerBox({ label, region, isOver = false, children }: ComposerBoxProps) {
  return (
    <section
      ref={region}
      aria-label={label}
      data-over={isOver || undefined}
      className="@container flex w-full flex-col gap-3 rounded-2xl border bg-raised p-4 shadow-sm transition-colors focus-within:border-edge data-over:border-accent data-over:bg-accent-soft"
    >
      {children}
    </section>
  );
}

interface PromptProps {
  readonly form: FormControls;
  readonly placeholder: string;
  readonly onSubmit: () => void;
  readonly className?: string;
}

/** The prompt. Enter sends, Shift+Enter begins a new line. */
export function PromptInput({ form, placeholder, onSubmit, className }: PromptProps) {
  const id = useId();
  const problem = form.problems.get("prompt");
  const text = typeof form.values.prompt === "string" ? form.values.prompt : "";
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    // a key that is held would pay again and again
    if (!event.repeat) onSubmit();
  };
  return (
    <div className={clsx("flex min-w-0 flex-col gap-1", className)}>
      <textarea
        aria-label="Prompt"
        aria-invalid={problem ? true : undefined}
        aria-describedby={problem ? id : undefined}
        dir={directionOf(text)}
        rows={2}
        placeholder={placeholder}
        value={text}
        onChange={(event) => form.set("prompt", event.target.value)}
        onKeyDown={onKeyDown}
        className="field-sizing-content max-h-60 min-h-14 w-full grow resize-none rounded-md bg-transparent px-1"
      />
      {problem && <Problem id={id} text={problem} />}
    </div>
  );
}

/** The model of the request. */
export function ModelSelect<Model extends string>({ form }: { readonly form: MediaForm<Model> }) {
  return (
    <Select
      label="Model"
      value={form.model}
      options={form.models.map((id) => ({ value: id, label: modelName(id), note: id }))}
      onChange={form.setModel}
      className="max-w-full min-w-0"
    />
  );
}

interface GenerateProps {
  readonly button: RefObject<HTMLButtonElement | null>;
  readonly isBusy: boolean;
  readonly children: ReactNode;
  readonly onPress: () => void;
}

/** The last row of a form: the settings, and the button that sends it beside them. */
export function LastRow({ button, children }: { readonly button: ReactNode; readonly children: ReactNode }) {
  return (
    <div className="flex flex-wrap items-start gap-2 @sm:flex-nowrap @sm:items-end">
      <div className="contents min-w-0 grow flex-wrap items-center gap-2 @sm:flex">{children}</div>
      <span className="ml-auto flex items-end gap-2">{button}</span>
    </div>
  );
}

/** The button that costs money: a double click and a held key press it once. */
export function GenerateButton({ button, isBusy, children, onPress }: GenerateProps) {
  const isReading = useStore(filesInReading) > 0;
  const isOff = isBusy || isReading;
  return (
    <Button
      ref={button}
      look="primary"
      aria-disabled={isOff || undefined}
      className="aria-disabled:opacity-60"
      {...onPressOnce(() => !isOff && onPress())}
    >
      <Sparkles aria-hidden />
      {isReading ? "Adding…" : children}
    </Button>
  );
}

interface FailureProps {
  readonly error: unknown;
  /** Texts of this request. */
  readonly messages?: Partial<ErrorMessages>;
  readonly onRetry?: () => void;
  readonly onDismiss?: () => void;
}

const ownMessages = { ...errorMessages, tooLong: TOO_LARGE };

/** A failed request, in words for people, with one way on. */
function Failure({ error, messages, onRetry, onDismiss }: FailureProps) {
  const { kind, title, hint, action, billing } = useDescription(error, {
    messages: { ...ownMessages, ...messages },
  });
  const canRetry = action === "retry" || action === "wait";
  // the words of these two say so themselves
  const isSaid = kind === "invalidInput" || isOfOffline(error);
  return (
    <div
      role="alert"
      className="flex flex-wrap items-center gap-x-3 gap-y-2 rounded-xl bg-danger-soft p-3 text-sm"
    >
      <CircleAlert className="size-4.5 shrink-0 text-danger" aria-hidden />
      <p className="min-w-48 grow basis-0">
        <strong className="font-medium">{title}.</strong> {hint}
        {!isSaid && billing === "none" && ` ${NOTHING_BILLED}`}
      </p>
      <span className="flex gap-2">
        {onRetry && canRetry && (
          <Button {...onPressOnce(onRetry)}>{billing === "maybe" ? "Retry anyway" : "Try again"}</Button>
        )}
        {onDismiss && (
          <Button look="quiet" onClick={onDismiss}>
            Dismiss
          </Button>
        )}
      </span>
    </div>
  );
}

/** The billing that an error of the library has. */
export function billingOf(error: unknown): unknown {
  return typeof error === "object" && error !== null && "billing" in error ? error.billing : undefined;
}

/** Pictures that the emulator paints for the examples, by the path of the file. */
const thumbnails = import.meta.glob<string>("../../demo/thumbnails/*.webp", {
  eager: true,
  query: "?url",
  import: "default",
});

interface ExamplesProps {
  readonly room: DemoPrompt["room"];
  readonly title: string;
  readonly most: number;
  readonly onPick: (example: DemoPrompt) => void;
}

/** An empty room: its first sentence, and prompts that are worth a try. */
export function Examples({ room, title, most, onPick }: ExamplesProps) {
  const examples = demoPrompts.filter((prompt) => prompt.room === room).slice(0, most);
  return (
    <section aria-label="Examples" className="flex flex-col gap-4">
      <h2 className="text-sm text-muted">{title}</h2>
      <ul className="grid grid-cols-[repeat(auto-fill,minmax(min(100%,12rem),1fr))] gap-4">
        {examples.map((example) => (
          <li key={example.id}>
            <button
              type="button"
              onClick={() => onPick(example)}
              className="group flex h-full w-full flex-col overflow-hidden rounded-xl border bg-raised text-left transition-colors hover:border-accent"
            >
              <img
                src={thumbnails[`../../demo/thumbnails/${example.id}.webp`]}
                alt=""
                width={480}
                height={270}
                className="aspect-video w-full object-cover transition-transform duration-300 group-hover:scale-105"
              />
              <span className="relative flex grow flex-col gap-1 bg-raised p-3">
                <span className="text-sm font-medium">{example.title}</span>
                <span className="text-sm text-muted">{example.prompt}</span>
              </span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Says what the emulator can draw, where a result has a prompt that no scene fits. */
export function Drawing({ prompts }: { readonly prompts: readonly string[] }) {
  const text = drawingWords({
    isDemo,
    hasUnfitPrompt: prompts.some((prompt) => !sceneOf(prompt)),
    scenes: Object.values(scenes).map(({ label }) => label),
  });
  return text && <p className="-mb-2 text-sm text-muted">{text}</p>;
}
