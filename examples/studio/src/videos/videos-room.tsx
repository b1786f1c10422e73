import type { VideoRequest } from "@sluice/core";
import type { VideoModel } from "@sluice/core/schemas";
import { useVideoTask, useVideoTasks } from "@sluice/react";
import { type MediaField, useLeaveWarning, videoRequestOf } from "@sluice/react/app";
import { ImagePlus } from "lucide-react";
import { type RefObject, useRef } from "react";
import { videoOptions } from "../client.js";
import { useInspected } from "../inspector/inspected.js";
import { AddMedia } from "../media/add-media.js";
import { Examples, Failure, focusProblem, GenerateButton, PromptInput } from "../media/composer.js";
import {
  fieldOf,
  LengthSlider,
  ModelSelect,
  MoreSettings,
  ResolutionChips,
  ShapeChips,
  SwitchChips,
} from "../media/settings.js";
import { FrameTile, Problem, References, useDrop, useSources } from "../media/sources.js";
import { type MediaDraft, type MediaForm, useVideoForm } from "../media/use-media-form.js";
import { RoomHeader } from "../shell/room-header.js";
import { Button } from "../ui/button.js";
import { toast } from "../ui/toast.js";
import { createValue, useValue } from "../value.js";
import { keepOrder, orderOf, orders } from "./orders.js";
import { usualTimeOf } from "./progress.js";
import { TaskCard } from "./task-card.js";

type Draft = MediaDraft<VideoModel>;

/** The room where videos are made: each is a task that goes on at the gateway, whatever happens to this page. */
export function VideosRoom() {
  const form = useVideoForm();
  const { create, reset, isCreating, error } = useVideoTask({ ...videoOptions, checkMedia });
  const { tasks, remove } = useVideoTasks(videoOptions);
  const hidden = useValue(deleted);
  const known = useValue(orders);
  const composer = useRef<HTMLElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  // it would be found again as unconfirmed: billed, perhaps, and its video lost
  useLeaveWarning(isCreating);
  useInspected({ room: "videos", request: form.request }, tasks);
  const sources = useSources(form);
  const first = fieldOf(form, "media", "first_frame") ?? fieldOf(form, "media", "reference_image");
  // a picture that is dropped beside the tiles is the first frame
  const { dropProps } = useDrop(
    (files) => first && void sources.addFiles(first, files),
    (links) => first && sources.addLinks(first, links),
  );
  const shown = tasks.filter(({ key }) => !hidden.has(key));

  const start = async ({ model, values }: Draft) => {
    const label = (typeof values.prompt === "string" && values.prompt.trim()) || model;
    keepOrder(label, { model, values });
    const { handle } = await create(videoRequestOf(model, values), { label });
    // the list has it from here on; the form is free for the next
    if (handle) reset();
  };
  const submit = () => {
    if (isCreating) return;
    if (form.check()) void start(form);
    else focusProblem(composer.current);
  };
  const fill = (draft: Draft) => {
    form.fill(draft);
    composer.current?.scrollIntoView({ block: "end", behavior: "smooth" });
  };

  return (
    <>
      <RoomHeader title="Videos" />
      <div {...dropProps} className="grow overflow-y-auto">
        <div className="mx-auto flex max-w-6xl flex-col gap-6 p-4 md:p-6">
          <Composer
            form={form}
            sources={sources}
            region={composer}
            button={button}
            isBusy={isCreating}
            onSubmit={submit}
          />
          {error && (
            <Failure
              error={error}
              onRetry={submit}
              onDismiss={() => {
                button.current?.focus();
                reset();
              }}
            />
          )}
          {shown.length === 0 ? (
            <Examples
              room="video"
              title="Your videos appear here. Try one of these."
              most={3}
              onPick={({ prompt, ratio }) => {
                const draft: Draft = { model: form.model, values: { prompt, ratio } };
                fill(draft);
                if (!isCreating) void start(draft);
              }}
            />
          ) : (
            <ul
              aria-label="Videos"
              className="grid grid-cols-[repeat(auto-fill,minmax(min(100%,20rem),1fr))] gap-4"
            >
              {shown.map((entry) => (
                <li key={entry.key}>
                  <TaskCard
                    entry={entry}
                    order={orderOf(entry, known)}
                    usualMs={usualTimeOf(entry.model, tasks)}
                    onReuse={fill}
                    onRetry={(draft) => {
                      remove(entry.key);
                      void start(draft);
                    }}
                    onRemove={() => hide(entry.key, remove)}
                  />
                </li>
              ))}
            </ul>
          )}
        </div>
      </div>
    </>
  );
}

/** Keys of videos that were deleted a moment ago: "Undo" brings them back. */
const deleted = createValue<ReadonlySet<string>>(new Set());
/** Milliseconds in which a deleted video can come back. */
const UNDO_MS = 10_000;

function hide(key: string, remove: (key: string) => void): void {
  deleted.set((keys) => new Set([...keys, key]));
  // the library can't put a task back, so it is removed when there is no way back
  const timer = setTimeout(() => remove(key), UNDO_MS);
  toast("Video deleted", {
    timeout: UNDO_MS,
    onUndo() {
      clearTimeout(timer);
      deleted.set((keys) => new Set([...keys].filter((one) => one !== key)));
    },
  });
}

interface ComposerProps {
  readonly form: MediaForm<VideoModel>;
  readonly sources: ReturnType<typeof useSources>;
  readonly region: RefObject<HTMLElement | null>;
  readonly button: RefObject<HTMLButtonElement | null>;
  readonly isBusy: boolean;
  readonly onSubmit: () => void;
}

/** The prompt between the frames of the video, and what goes with it. */
function Composer({ form, sources, region, button, isBusy, onSubmit }: ComposerProps) {
  const { objection, addFiles, addLinks } = sources;
  const media = form.fields.filter((field): field is MediaField => field.kind === "media");
  const references = media.filter(({ name }) => name !== "first_frame" && name !== "last_frame");
  const first = fieldOf(form, "media", "first_frame");
  const last = fieldOf(form, "media", "last_frame");
  return (
    <section
      ref={region}
      aria-label="New video"
      className="mx-auto flex w-full max-w-3xl flex-col gap-3 rounded-2xl border bg-raised p-4 shadow-sm transition-colors focus-within:border-edge"
    >
      <div className="grid grid-cols-2 items-start gap-3 sm:grid-cols-[9rem_minmax(0,1fr)_9rem]">
        {first && <FrameTile field={first} form={form} />}
        <PromptInput
          form={form}
          placeholder="Describe a video"
          onSubmit={onSubmit}
          className="order-first col-span-2 sm:order-none sm:col-span-1"
        />
        {last && <FrameTile field={last} form={form} />}
      </div>
      <References fields={references} form={form} />
      {objection && <Problem text={objection} />}
      <ShapeChips form={form} />
      <div className="flex flex-wrap items-end gap-x-6 gap-y-2">
        <ResolutionChips form={form} />
        <LengthSlider form={form} />
      </div>
      <div className="flex flex-wrap items-center gap-2">
        {references.length > 0 && (
          <AddMedia
            title="References"
            fields={references}
            onFiles={addFiles}
            onLinks={addLinks}
            trigger={
              <Button>
                <ImagePlus aria-hidden />
                References
              </Button>
            }
          />
        )}
        <SwitchChips form={form} />
        <ModelSelect form={form} />
        <MoreSettings form={form} />
        <span className="ml-auto">
          <GenerateButton button={button} isBusy={isBusy} onPress={onSubmit}>
            {isBusy ? "Sending…" : "Generate"}
          </GenerateButton>
        </span>
      </div>
    </section>
  );
}

/** Checks the files in a request. What reads them is loaded when there is something to read. */
async function checkMedia(request: VideoRequest, options: { readonly signal: AbortSignal }) {
  const { checkVideoMedia } = await import("@sluice/core/media");
  return checkVideoMedia(request, options);
}
