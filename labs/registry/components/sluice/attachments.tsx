"use client";

import type { useAttachments } from "@sluice/react";
import { Paperclip, X } from "lucide-react";
import { type ReactNode, useRef } from "react";
import { Button, IconButton } from "@/components/sluice/button";
import { attachmentWords } from "@/components/sluice/words";
import { cn } from "@/lib/utils";

type State = ReturnType<typeof useAttachments>;

interface AttachButtonProps {
  readonly attachments: State;
}

/** The button that adds images to a message. */
export function AttachButton({ attachments }: AttachButtonProps) {
  const picker = useRef<HTMLInputElement>(null);
  return (
    <>
      <input {...attachments.inputProps} ref={picker} aria-label={attachmentWords.field} className="hidden" />
      <IconButton label={attachmentWords.add} onClick={() => picker.current?.click()}>
        <Paperclip aria-hidden />
      </IconButton>
    </>
  );
}

interface AttachmentsProps {
  readonly attachments: State;
  /** Name of the model if it can't see images. */
  readonly model: string;
  /** Name of a model that can see them. @default no button for it */
  readonly seeingModel?: string | undefined;
  readonly onSwitchModel?: () => void;
  /** Called after the user dismissed the note about refused files, which had the focus. */
  readonly onDismiss?: () => void;
}

/** Shows the images to send with a message, and the reasons why others were refused. */
export function Attachments(props: AttachmentsProps) {
  const { attachments, model, seeingModel, onSwitchModel, onDismiss } = props;
  const { problems, isPreparing, images, supportsImages, dismiss } = attachments;
  // many files with one problem are one line
  const lines = [...new Set(problems.map(({ message }) => message))];
  return (
    <>
      <Previews attachments={attachments} />
      <Refusals
        // one note for all files, however long each takes to be read
        lines={isPreparing ? [] : lines}
        onDismiss={() => {
          dismiss();
          onDismiss?.();
        }}
      />
      {images.length > 0 && !supportsImages && (
        <div
          role="alert"
          className="flex flex-wrap items-center gap-2 rounded-xl bg-warning/10 p-1 ps-3 text-sm"
        >
          <span className="grow">{attachmentWords.seesNoImages(model)}</span>
          {seeingModel !== undefined && (
            <Button onClick={onSwitchModel}>{attachmentWords.switchTo(seeingModel)}</Button>
          )}
        </div>
      )}
    </>
  );
}

interface PreviewsProps {
  readonly attachments: State;
}

function Previews({ attachments: { attachments, remove } }: PreviewsProps) {
  if (attachments.length === 0) return null;
  return (
    <ul aria-label={attachmentWords.list} className="flex flex-wrap gap-2 p-2">
      {attachments.map(({ id, file, previewUrl, isPreparing }) => (
        <li key={id} className="relative">
          <img
            src={previewUrl}
            alt={file.name}
            className={cn(
              "size-16 rounded-xl border object-cover [@media(height<32rem)]:size-10",
              isPreparing && "animate-pulse",
            )}
          />
          <IconButton
            label={attachmentWords.remove(file.name)}
            variant="secondary"
            className="absolute -top-2 -right-2 size-6! rounded-full! pointer-coarse:size-11!"
            onClick={() => remove(id)}
          >
            <X aria-hidden />
          </IconButton>
        </li>
      ))}
    </ul>
  );
}

interface RefusalsProps {
  /** Problems, one line for each reason. */
  readonly lines: readonly ReactNode[];
  readonly onDismiss: () => void;
}

/** The reasons why files were not added. One alert announces all of them. */
export function Refusals({ lines, onDismiss }: RefusalsProps) {
  if (lines.length === 0) return null;
  return (
    <div role="alert" className="flex items-start gap-2 ps-2 text-sm text-destructive">
      <div className="flex min-w-0 grow flex-col gap-1 py-1 wrap-anywhere">
        {lines.map((line, index) => (
          <p key={index} dir="auto">
            {line}
          </p>
        ))}
      </div>
      <IconButton label={attachmentWords.dismiss} className="-my-0.5" onClick={onDismiss}>
        <X aria-hidden />
      </IconButton>
    </div>
  );
}

/** Covers a part of the page while files are dragged over it: `isDragging` of `useAttachments`. */
export function DropHint() {
  return (
    <div className="pointer-events-none absolute inset-2 flex items-center justify-center rounded-2xl border-2 border-dashed border-primary bg-secondary/90 font-medium">
      {attachmentWords.drop}
    </div>
  );
}
