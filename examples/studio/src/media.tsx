import { checkMedia, fitImage, toDataURI, uploadMedia } from "@sluice/media";
import { type DragEvent, type ReactNode, type RefObject, useState } from "react";
import type { FormValues, MediaField } from "@/components/sluice/form-fields";
import { describeFileProblem } from "@/components/sluice/form-problems";
import { quoteName } from "@/components/sluice/format";
import { MediaFields } from "@/components/sluice/media-fields";
import { MediaSettings } from "@/components/sluice/media-settings";
import { PromptForm, type PromptFormProps } from "@/components/sluice/prompt-form";
import type { MediaForm } from "@/components/sluice/use-media-form";
import { type DemoPrompt, demoPrompts } from "../demo/prompts.js";
import { client } from "./client.js";
import { useTitle } from "./state.js";

/**
 * Returns a URL of a file for a field of the form: a data URI if the field accepts one, otherwise the link of the
 * uploaded file.
 *
 * @throws {TypeError} with a text for people if the model can't use the file
 */
async function uploadFile(file: File, field: MediaField): Promise<string> {
  if (field.media !== "image") {
    const use = (["reference_video", "reference_audio", "file"] as const).find(
      (known) => known === field.name,
    );
    const { mediabunny } = await import("@sluice/media/mediabunny");
    const [issue] = use ? await checkMedia([{ media: file, use }], { parser: mediabunny }) : [];
    if (issue) throw new TypeError(`${quoteName(file.name)}: ${describeFileProblem(issue.rule)}`);
    return (await uploadMedia(client, file)).url;
  }
  const use = (["first_frame", "last_frame", "reference_image"] as const).find(
    (known) => known === field.name,
  );
  const isImage = use || (await checkMedia([{ media: file, use: "chat_image" }])).length === 0;
  const image = isImage && (use ? await fitImage(file, use).catch(() => undefined) : { blob: file });
  if (!image) throw new TypeError(`${quoteName(file.name)} is not an image.`);
  // a field without file types accepts only links
  const acceptsOnlyLinks = field.accept === "";
  return acceptsOnlyLinks ? (await uploadMedia(client, image.blob)).url : toDataURI(image.blob);
}

/** URLs of the examples' thumbnails, by the path of the file. */
const thumbnails = import.meta.glob<string>("../demo/thumbnails/*.webp", {
  eager: true,
  query: "?url",
  import: "default",
});

interface PageProps {
  readonly title: string;
  /** Called with the files that are dropped on the page. */
  readonly onDrop?: (files: readonly File[]) => void;
  readonly children: ReactNode;
}

/** A page of the studio with a title. A file that is dropped beside its fields does not replace the page. */
export function Page({ title, onDrop, children }: PageProps) {
  useTitle(title);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: a button of the page does the same by keyboard
    <div
      className="grow overflow-y-auto"
      onDragOver={(event) => hasFiles(event) && event.preventDefault()}
      onDrop={(event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        onDrop?.([...event.dataTransfer.files]);
      }}
    >
      <div className="mx-auto flex max-w-6xl flex-col gap-6 p-4 md:p-6">
        <h1 className="sr-only">{title}</h1>
        {children}
      </div>
    </div>
  );
}

/** Returns false for a text, which can be dropped into a field. */
function hasFiles({ dataTransfer }: DragEvent): boolean {
  return dataTransfer.types.includes("Files");
}

interface MediaPageProps<Model extends string>
  extends Pick<PromptFormProps, "estimate" | "error" | "onDismiss" | "isBusy"> {
  readonly button: RefObject<HTMLButtonElement | null>;
  readonly title: string;
  /** What the form makes: `an image`. */
  readonly result: string;
  readonly form: MediaForm<Model>;
  readonly onSend: () => void;
  /** True for a page without results, which shows examples. */
  readonly isEmpty: boolean;
  /** Returns the values of the form for an example. */
  readonly createValues: (example: DemoPrompt) => FormValues;
  readonly children: ReactNode;
}

/** The page for new images or new videos: the form, and the results below it. */
export function MediaPage<Model extends string>(props: MediaPageProps<Model>) {
  const { title, result, form, isBusy, onSend, isEmpty, createValues, children, ...rest } = props;
  const [isAdding, setIsAdding] = useState(false);
  return (
    <Page title={title}>
      <PromptForm
        label={result.replace(/^an?/, "New")}
        placeholder={`Describe ${result}`}
        prompt={form.prompt}
        problem={form.problems.get("prompt")}
        onPrompt={(text) => form.set("prompt", text)}
        onSubmit={() => form.submit() && onSend()}
        isBusy={isBusy || isAdding}
        above={<MediaFields form={form} upload={uploadFile} onBusy={setIsAdding} />}
        {...rest}
      >
        <MediaSettings form={form} />
      </PromptForm>
      {isEmpty ? (
        <Examples
          room={result === "a video" ? "video" : "images"}
          onPick={(example) => {
            form.fill({ model: form.model, values: createValues(example) });
            rest.button.current?.focus();
          }}
        />
      ) : (
        children
      )}
    </Page>
  );
}

/** Loads the thumbnail of an example as a file. */
export async function loadThumbnail({ id, title }: DemoPrompt): Promise<File> {
  const response = await fetch(thumbnails[`../demo/thumbnails/${id}.webp`] ?? "");
  return new File([await response.blob()], `${title}.webp`, { type: "image/webp" });
}

interface ExamplesProps {
  readonly room: DemoPrompt["room"];
  /** Text below the title. @default the prompt */
  readonly note?: string;
  readonly onPick: (example: DemoPrompt) => void;
}

/** Prompts to try, on a page without results. A click fills the form, and sends nothing. */
export function Examples({ room, note, onPick }: ExamplesProps) {
  return (
    <ul
      aria-label="Examples"
      className="grid grid-cols-[repeat(auto-fill,minmax(min(100%,12rem),1fr))] gap-4"
    >
      {demoPrompts
        .filter((example) => example.room === room)
        .map((example) => (
          <li key={example.id}>
            <button
              type="button"
              onClick={() => onPick(example)}
              className="flex h-full w-full cursor-pointer flex-col overflow-hidden rounded-xl border bg-card text-start hover:border-primary"
            >
              <img
                src={thumbnails[`../demo/thumbnails/${example.id}.webp`]}
                alt=""
                width={480}
                height={270}
                className="aspect-video w-full object-cover"
              />
              <span className="flex flex-col gap-1 p-3 text-sm">
                <span className="font-medium">{example.title}</span>
                <span dir="auto" className="text-muted-foreground">
                  {note ?? example.prompt}
                </span>
              </span>
            </button>
          </li>
        ))}
    </ul>
  );
}
