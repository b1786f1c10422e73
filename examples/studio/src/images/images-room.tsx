import { useStore } from "@nanostores/react";
import type { ImageModel } from "@sluice/core";
import { useImages } from "@sluice/react";
import { ImagePlus, Lock, LockOpen } from "lucide-react";
import { type RefObject, useEffect } from "react";
import { Chip, IconButton } from "@/components/sluice/button";
import { NumberField } from "@/components/sluice/fields";
import { fieldOf, ResolutionChips, ShapeChips } from "@/components/sluice/form-chips";
import type { MediaField } from "@/components/sluice/form-fields";
import { MoreSettings } from "@/components/sluice/form-settings";
import { imageForm, imageRequestOf } from "@/components/sluice/image-form";
import type { DemoPrompt } from "../../demo/prompts.js";
import { WithEstimate } from "../costs.js";
import { useInspected } from "../inspector/feed.js";
import { AddMedia } from "../media/add-media.js";
import {
  ComposerBox,
  Drawing,
  Examples,
  GenerateButton,
  LastRow,
  MediaRoom,
  ModelSelect,
  PromptInput,
  useMediaRoom,
} from "../media/composer.js";
import { LostFiles, References, useDrop, useSources } from "../media/sources.js";
import { type MediaDraft, type MediaForm, useImageForm } from "../media/use-media-form.js";
import { busyWords, IMAGES_DONE } from "../room-words.js";
import { useRoomCommands } from "../shell/commands.js";
import { gallery, IMAGE_STORE, lost, order, renewLinks } from "./gallery.js";
import { Wall } from "./wall.js";

type Draft = MediaDraft<ImageModel>;

/** The room where images are made. A request goes on while one is in another room. */
export function ImagesRoom() {
  const form = useImageForm();
  const { generate, stop, reset, ...state } = useImages<ImageModel>({ id: IMAGE_STORE, model: form.model });
  const { status, error, variables, submittedAt } = state;
  const kept = useStore(gallery.items);
  const lostId = useStore(lost);
  // its error stands above
  const sheets = error ? kept.filter(({ id }) => id !== lostId) : kept;
  // without a proxy, or without its archive, the links stay as they are
  useEffect(() => void renewLinks(kept).catch(() => {}), [kept]);
  const isPending = status === "pending";
  useInspected({ room: "images", request: form.request }, state);
  const sources = useSources(form);
  const references = fieldOf(form, "media", "image") as MediaField;
  const { dropProps, isOver } = useDrop(
    (files) => void sources.addFiles(references, files),
    (links) => sources.addLinks(references, links),
  );

  const start = (draft: Draft) => order(draft, () => generate(imageRequestOf(draft.model, draft.values)));
  const room = useMediaRoom(form, isPending, (draft) => void start(draft));
  const { region, button, fill, submit, fillAndStart, focusButton } = room;
  useRoomCommands([
    isPending ? { label: "Stop", run: stop } : { label: "Generate", run: submit },
    error !== undefined && { label: "Dismiss the error", run: reset },
  ]);
  const failure = error && {
    error,
    onRetry() {
      focusButton();
      if (lostId) gallery.remove(lostId);
      submit();
    },
    onDismiss() {
      focusButton();
      reset();
    },
  };

  return (
    <MediaRoom
      title="Images"
      dropProps={dropProps}
      failure={failure}
      composer={
        <Composer
          form={form}
          sources={sources}
          isOver={isOver}
          region={region}
          button={button}
          isBusy={isPending}
          onSubmit={submit}
        />
      }
    >
      <p role="status" className="sr-only">
        {isPending ? busyWords.images : status === "success" && IMAGES_DONE}
      </p>
      {sheets.length === 0 && !isPending ? (
        <Examples
          room="images"
          title="Your images appear here. Try one of these."
          most={9}
          onPick={(example) => {
            fill(draftOf(example, form.model));
            focusButton();
          }}
        />
      ) : (
        <>
          <Drawing prompts={sheets.map(({ prompt }) => prompt)} />
          <Wall
            sheets={sheets}
            pending={isPending ? { request: variables, since: submittedAt } : undefined}
            onStop={() => {
              focusButton();
              stop();
            }}
            onReuse={fill}
            onRetry={fillAndStart}
            // another seed for this one, and none for the next: a seed that stays would repeat the image
            onVary={({ model, values }) => {
              const { seed: _, ...shown } = values;
              fillAndStart({ model, values: { ...values, seed: randomSeed() } }, { model, values: shown });
            }}
          />
        </>
      )}
    </MediaRoom>
  );
}

/** The form of an example: its words, and the first size of its shape. */
function draftOf({ prompt, ratio, count }: DemoPrompt, model: ImageModel): Draft {
  const size = fieldOf(imageForm(model), "choice", "size")?.choices.find((choice) => choice.ratio === ratio);
  return {
    model,
    values: {
      prompt,
      size: size?.value,
      ...(count && { sequential_image_generation: true, max_images: count }),
    },
  };
}

interface ComposerProps {
  readonly form: ReturnType<typeof useImageForm>;
  readonly sources: ReturnType<typeof useSources>;
  /** True while files are held over the room. */
  readonly isOver: boolean;
  readonly region: RefObject<HTMLElement | null>;
  readonly button: RefObject<HTMLButtonElement | null>;
  readonly isBusy: boolean;
  readonly onSubmit: () => void;
}

/** The prompt and what goes with it. */
function Composer({ form, sources, isOver, region, button, isBusy, onSubmit }: ComposerProps) {
  const references = fieldOf(form, "media", "image") as MediaField;
  const { refusals, addFiles, addLinks } = sources;
  return (
    <ComposerBox label="New image" region={region} isOver={isOver}>
      <References fields={[references]} form={form} />
      <LostFiles names={form.lost} />
      {refusals}
      <PromptInput form={form} placeholder="Describe an image" onSubmit={onSubmit} />
      <ShapeChips form={form} />
      <LastRow
        button={
          <WithEstimate request={form.request}>
            <GenerateButton button={button} isBusy={isBusy} onPress={onSubmit}>
              {isBusy ? "Generating…" : "Generate"}
            </GenerateButton>
          </WithEstimate>
        }
      >
        <AddMedia
          title="Reference images"
          fields={[references]}
          onFiles={addFiles}
          onLinks={addLinks}
          trigger={
            <IconButton label="Add references">
              <ImagePlus aria-hidden />
            </IconButton>
          }
        />
        <ModelSelect form={form} />
        <ResolutionChips form={form} />
        <SetSize form={form} />
        <SeedLock form={form} />
        <MoreSettings form={form} />
      </LastRow>
    </ComposerBox>
  );
}

/** The number of images: more than one is a set of images that match. */
function SetSize({ form }: { readonly form: MediaForm<ImageModel> }) {
  const { sequential_image_generation: isSet, max_images: most } = form.values;
  return (
    <NumberField
      label="Number of images"
      min={1}
      value={isSet === true && typeof most === "number" ? most : 1}
      onChange={(count = 1) =>
        form.fill({
          model: form.model,
          values: {
            ...form.values,
            sequential_image_generation: count > 1,
            max_images: count > 1 ? count : undefined,
          },
        })
      }
    />
  );
}

/** Keeps the seed, so that the next image is like the last one. */
function SeedLock({ form }: { readonly form: MediaForm<ImageModel> }) {
  const { seed } = form.values;
  const isLocked = typeof seed === "number";
  return (
    <Chip
      isPressed={isLocked}
      data-tip="The same seed gives a similar image"
      onClick={() => form.set("seed", isLocked ? undefined : randomSeed())}
    >
      {isLocked ? <Lock aria-hidden /> : <LockOpen aria-hidden />}
      <span className="@max-3xl:sr-only">Seed</span>
      {isLocked && ` ${seed}`}
    </Chip>
  );
}

function randomSeed(): number {
  return Math.floor(Math.random() * 1_000_000);
}
