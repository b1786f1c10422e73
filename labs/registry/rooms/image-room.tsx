"use client";

import type { ImageResult } from "@sluice/core";
import { estimateCost } from "@sluice/prices";
import { useImages } from "@sluice/react";
import { Copy, Download, Share, Trash2 } from "lucide-react";
import { useState } from "react";
import { downloadMedia, shareMedia } from "@/components/sluice/download";
import { modelName } from "@/components/sluice/format";
import { ImageTile } from "@/components/sluice/image-tile";
import { ImageWall, PendingImages } from "@/components/sluice/image-wall";
import { Lightbox } from "@/components/sluice/lightbox";
import { SHARE } from "@/components/sluice/media-words";
import { useDraft } from "@/components/sluice/use-draft";
import { prices } from "./prices";
import { PromptForm } from "./prompt-form";
import { createShelf } from "./shelf";

const model = "gamma-image-5-0-260128";
const size = "2048x2048";

interface MadeImage {
  readonly key: string;
  readonly prompt: string;
  readonly image: ImageResult["images"][number];
}

const useMade = createShelf<MadeImage>();

/** The room where images are made. */
export function ImageRoom() {
  const { draft: prompt, setDraft: setPrompt } = useDraft("image", "");
  const { generate, stop, status, error, submittedAt } = useImages({ id: "images", model });
  const [made, setMade] = useMade();
  const [open, setOpen] = useState<string>();
  const isBusy = status === "pending";
  const start = async () => {
    const settled = await generate({ model, prompt, size });
    if (settled.status !== "success") return;
    const images = settled.data.images.map((image) => ({ key: crypto.randomUUID(), prompt, image }));
    setMade((before) => [...images, ...before]);
  };
  const remove = (key: string) => setMade((before) => before.filter((one) => one.key !== key));
  const actionsOf = ({ key, prompt, image: { url = "" } }: MadeImage) => [
    {
      label: "Copy prompt",
      icon: <Copy aria-hidden />,
      stays: true,
      onSelect: () => void navigator.clipboard.writeText(prompt),
    },
    {
      label: "Download",
      icon: <Download aria-hidden />,
      stays: true,
      onSelect: () => void downloadMedia(url, prompt),
    },
    {
      label: SHARE,
      icon: <Share aria-hidden />,
      stays: true,
      onSelect: () => void shareMedia(url, prompt),
    },
    { label: "Delete", icon: <Trash2 aria-hidden />, isDanger: true, onSelect: () => remove(key) },
  ];
  return (
    <div className="flex grow flex-col gap-4 overflow-y-auto p-4">
      <PromptForm
        label="Describe an image"
        prompt={prompt}
        onPrompt={setPrompt}
        onSubmit={() => void start()}
        isBusy={isBusy}
        estimate={estimateCost({ model, prompt, size }, prices)}
        error={error}
      />
      <ImageWall label="Images">
        {(styleOf) => (
          <>
            {isBusy && <PendingImages styleOf={styleOf} size={size} since={submittedAt} onStop={stop} />}
            {made.map((one) => (
              <li key={one.key} aria-label={one.prompt} style={styleOf(one.image.size ?? size)}>
                <ImageTile
                  image={one.image}
                  prompt={one.prompt}
                  size={one.image.size ?? size}
                  actions={actionsOf(one)}
                  onOpen={() => setOpen(one.key)}
                  onDownload={(link) =>
                    void downloadMedia(one.image.url ?? "", one.prompt).then(
                      (result) => result === "expired" && link.onGone(),
                    )
                  }
                  onRemove={() => remove(one.key)}
                />
              </li>
            ))}
          </>
        )}
      </ImageWall>
      {open !== undefined && (
        <Lightbox
          images={made.flatMap(({ key, prompt, image }) =>
            image.url ? [{ key, prompt, url: image.url, size: image.size, facts: [modelName(model)] }] : [],
          )}
          open={open}
          actionsOf={({ key }) => made.filter((one) => one.key === key).flatMap(actionsOf)}
          onClose={() => setOpen(undefined)}
        />
      )}
    </div>
  );
}
