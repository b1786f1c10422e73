import { useStore } from "@nanostores/react";
import { isGatewayError, type VideoModel } from "@sluice/core";
import { useVideoTask, useVideoTasks } from "@sluice/react";
import { ImagePlus } from "lucide-react";
import { type RefObject, useRef } from "react";
import { Button, ProgressBar } from "@/components/sluice/button";
import { fieldOf, ResolutionChips, ShapeChips, SwitchChips } from "@/components/sluice/form-chips";
import type { MediaField } from "@/components/sluice/form-fields";
import { LengthSlider, MoreSettings } from "@/components/sluice/form-settings";
import { videoRequestOf } from "@/components/sluice/video-form";
import { usualTimeOf } from "@/components/sluice/video-progress";
import { videoOptions } from "../client.js";
import { WithEstimate } from "../costs.js";
import { useInspected } from "../inspector/feed.js";
import { AddMedia } from "../media/add-media.js";
import {
  billingOf,
  ComposerBox,
  Drawing,
  Examples,
  focusPlace,
  GenerateButton,
  LastRow,
  MediaRoom,
  ModelSelect,
  PromptInput,
  useMediaRoom,
} from "../media/composer.js";
import { fieldFor, filesIn, keepLinks, lostFilesOf, withFiles } from "../media/files.js";
import { FrameTile, LostFiles, References, useDrop, useSources } from "../media/sources.js";
import { type MediaDraft, useVideoForm } from "../media/use-media-form.js";
import { NO_FILE_STORE } from "../room-words.js";
import { useRoomCommands } from "../shell/commands.js";
import { toast } from "../ui/popups.js";
import { deleted, keepOrder, orderOf, orders } from "./orders.js";
import { TaskCard } from "./task-card.js";

type Draft = MediaDraft<VideoModel>;

/** Words for a proxy without a place for files. */
const noFileMessages = {
  wrongAddress: NO_FILE_STORE,
};

/** Says if the proxy has no such path: a 404 of the gateway is about something else. */
function isMissingRoute(error: Error): boolean {
  return (
    isGatewayError(error) &&
    error.name === "APIError" &&
    error.source === "proxy" &&
    error.code === "not_found"
  );
}

/** The room where videos are made: each is a task that goes on at the gateway, whatever happens to this page. */
export function VideosRoom() {
  const form = useVideoForm({ checksFiles: true });
  const { create, reset, phase, progress, error } = useVideoTask(videoOptions);
  const isCreating = phase === "uploading" || phase === "creating";
  const { tasks, remove } = useVideoTasks(videoOptions);
  const list = useRef<HTMLUListElement>(null);
  const hidden = useStore(deleted);
  const known = useStore(orders.items);
  useInspected({ room: "videos", request: form.request }, tasks);
  const sources = useSources(form);
  const first = fieldOf(form, "media", "first_frame") ?? fieldOf(form, "media", "reference_image");
  const media = form.fields.filter((field): field is MediaField => field.kind === "media");
  // a picture that is dropped beside the tiles is the first frame
  const { dropProps } = useDrop(
    (files) => void sources.addFilesTo((file) => fieldFor(file, media), files),
    (links) => first && sources.addLinks(first, links),
  );
  const shown = tasks.filter(({ key }) => !hidden.has(key));

  const start = async ({ model, values }: Draft) => {
    if (lostFilesOf(values).length > 0) return form.fill({ model, values });
    const files = filesIn(values);
    const label = (typeof values.prompt === "string" && values.prompt.trim()) || model;
    keepOrder(label, { model, values });
    const { handle } = await create(withFiles(videoRequestOf(model, values)), { label });
    // the list has it from here on; the form is free for the next
    if (!handle) return;
    reset();
    // a link that is not kept costs one more choice of the file
    void keepLinks(files).catch(() => {});
  };
  const room = useMediaRoom(form, isCreating, (draft) => void start(draft));
  const { region, button, fill, submit, focusButton } = room;
  useRoomCommands([isCreating ? { label: "Cancel", run: reset } : { label: "Generate", run: submit }]);
  // the card of a task that may exist says so itself
  const failure = error &&
    billingOf(error) !== "maybe" && {
      error,
      ...(isMissingRoute(error) && filesIn(form.values).length > 0 && { messages: noFileMessages }),
      onRetry: submit,
      onDismiss() {
        focusButton();
        reset();
      },
    };

  return (
    <MediaRoom
      title="Videos"
      dropProps={dropProps}
      failure={failure || undefined}
      composer={
        <Composer
          form={form}
          sources={sources}
          region={region}
          button={button}
          isBusy={isCreating}
          uploadProgress={phase === "uploading" ? progress : undefined}
          onSubmit={submit}
          onCancel={() => {
            focusButton();
            reset();
          }}
        />
      }
    >
      {shown.length === 0 ? (
        <Examples
          room="video"
          title="Your videos appear here. Try one of these."
          most={3}
          onPick={({ prompt, ratio }) => {
            fill({ model: form.model, values: { prompt, ratio } });
            focusButton();
          }}
        />
      ) : (
        <>
          <Drawing prompts={shown.map(({ label = "" }) => label)} />
          <ul
            ref={list}
            aria-label="Videos"
            className="grid grid-cols-[repeat(auto-fill,minmax(min(100%,20rem),1fr))] gap-4"
          >
            {shown.map((entry, at) => (
              <li key={entry.key}>
                <TaskCard
                  entry={entry}
                  order={orderOf(entry, known)}
                  usualMs={usualTimeOf(entry.model, tasks)}
                  onReuse={fill}
                  onRetry={(draft) => {
                    if (lostFilesOf(draft.values).length > 0) return fill(draft);
                    remove(entry.key);
                    void start(draft);
                  }}
                  onRemove={() => {
                    hide(entry.key, remove);
                    focusPlace(list.current, at);
                  }}
                />
              </li>
            ))}
          </ul>
        </>
      )}
    </MediaRoom>
  );
}

/** Milliseconds in which a deleted video can come back. */
const UNDO_MS = 10_000;

function hide(key: string, remove: (key: string) => void): void {
  deleted.set(new Set([...deleted.get(), key]));
  // the library can't put a task back, so it is removed when there is no way back
  const timer = setTimeout(() => remove(key), UNDO_MS);
  toast("Video deleted", {
    timeout: UNDO_MS,
    onUndo() {
      clearTimeout(timer);
      deleted.set(new Set([...deleted.get()].filter((one) => one !== key)));
    },
  });
}

interface ComposerProps {
  readonly form: ReturnType<typeof useVideoForm>;
  readonly sources: ReturnType<typeof useSources>;
  readonly region: RefObject<HTMLElement | null>;
  readonly button: RefObject<HTMLButtonElement | null>;
  readonly isBusy: boolean;
  /** Share of the files that is stored, from 0 to 1; undefined while none is uploaded. */
  readonly uploadProgress: number | undefined;
  readonly onSubmit: () => void;
  /** Stops the upload. */
  readonly onCancel: () => void;
}

/** The prompt between the frames of the video, and what goes with it. */
function Composer(props: ComposerProps) {
  const { form, sources, region, button, isBusy, uploadProgress, onSubmit, onCancel } = props;
  const { refusals, addFiles, addLinks } = sources;
  const media = form.fields.filter((field): field is MediaField => field.kind === "media");
  const references = media.filter(({ name }) => name !== "first_frame" && name !== "last_frame");
  const first = fieldOf(form, "media", "first_frame");
  const last = fieldOf(form, "media", "last_frame");
  return (
    <ComposerBox label="New video" region={region}>
      <div className="grid grid-cols-2 items-start gap-3 @xl:grid-cols-[9rem_minmax(0,1fr)_9rem]">
        {first && <FrameTile field={first} form={form} />}
        <PromptInput
          form={form}
          placeholder="Describe a video"
          onSubmit={onSubmit}
          className="order-first col-span-2 @xl:order-none @xl:col-span-1"
        />
        {last && <FrameTile field={last} form={form} />}
      </div>
      <References fields={references} form={form} />
      <LostFiles names={form.lost} />
      {refusals}
      <ShapeChips form={form} />
      <div className="flex flex-wrap items-end gap-x-6 gap-y-2">
        <ResolutionChips form={form} />
        <LengthSlider form={form} />
      </div>
      <LastRow
        button={
          <>
            {uploadProgress !== undefined && (
              <Button look="quiet" onClick={onCancel}>
                Cancel
              </Button>
            )}
            <WithEstimate request={form.request}>
              <GenerateButton button={button} isBusy={isBusy} onPress={onSubmit}>
                {uploadProgress !== undefined ? "Uploading…" : isBusy ? "Sending…" : "Generate"}
              </GenerateButton>
            </WithEstimate>
          </>
        }
      >
        {references.length > 0 && (
          <AddMedia
            title="References"
            fields={references}
            onFiles={addFiles}
            onLinks={addLinks}
            trigger={
              <Button>
                <ImagePlus aria-hidden />
                <span className="@max-md:sr-only">References</span>
              </Button>
            }
          />
        )}
        <SwitchChips form={form} />
        <ModelSelect form={form} />
        <MoreSettings form={form} />
      </LastRow>
      {uploadProgress !== undefined && <UploadBar share={uploadProgress} />}
    </ComposerBox>
  );
}

/** The share of the files that is stored. */
function UploadBar({ share }: { readonly share: number }) {
  return (
    <div className="flex items-center gap-3 text-xs text-muted tabular-nums">
      <ProgressBar label="Upload" share={share} />
      {Math.floor(share * 100)} %
    </div>
  );
}
