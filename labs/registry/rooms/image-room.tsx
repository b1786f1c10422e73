"use client";

import { estimateCost } from "@sluice/prices";
import { ImageGallery } from "@/components/sluice/image-gallery";
import { createImageOrders, useImageOrders } from "@/components/sluice/image-orders";
import { PromptForm } from "@/components/sluice/prompt-form";
import { useDraft } from "@/components/sluice/use-draft";
import { prices } from "./prices";
import { storage } from "./storage";

const model = "gamma-image-5-0-260128";
const size = "2048x2048";
const list = createImageOrders(storage);

/** The room where images are made. */
export function ImageRoom() {
  const { draft: prompt, setDraft: setPrompt } = useDraft("image", "");
  const { generate, stop, reset, status, error, variables, submittedAt, orders } = useImageOrders(
    list,
    model,
  );
  const isBusy = status === "pending";
  const request = { model, prompt, size } as const;
  return (
    <div className="flex grow flex-col gap-4 overflow-y-auto p-4">
      <PromptForm
        label="New image"
        placeholder="Describe an image"
        prompt={prompt}
        onPrompt={setPrompt}
        onSubmit={() => prompt.trim() !== "" && void generate(request)}
        isBusy={isBusy}
        estimate={estimateCost(request, prices)}
        error={error}
        onDismiss={reset}
      />
      <ImageGallery
        orders={orders}
        list={list}
        pending={isBusy ? { request: variables, since: submittedAt } : undefined}
        onStop={stop}
        onReuse={(next) => setPrompt(next.prompt)}
        onRetry={(next) => void generate(next)}
      />
    </div>
  );
}
