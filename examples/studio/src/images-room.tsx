import type { ImageModel, ImageRequest } from "@sluice/core";
import { checkRequest } from "@sluice/core/schemas";
import { estimateCost } from "@sluice/prices";
import { Clapperboard, ImagePlus, Shuffle } from "lucide-react";
import { useRef } from "react";
import { findField } from "@/components/sluice/form-chips";
import { type FormValues, listURLs } from "@/components/sluice/form-fields";
import { createImageForm, createImageRequest, readImageRequest } from "@/components/sluice/image-form";
import { ImageGallery, type ShownImage } from "@/components/sluice/image-gallery";
import { createImageOrders, useImageOrders } from "@/components/sluice/image-orders";
import { useLeaveWarning } from "@/components/sluice/use-leave-warning";
import { useMediaForm } from "@/components/sluice/use-media-form";
import type { DemoPrompt } from "../demo/prompts.js";
import { storage } from "./client.js";
import { MediaPage } from "./media.js";
import { prices } from "./prices.js";
import { openRoute } from "./rooms.js";
import { useRunningCode } from "./state.js";
import { useVideoForm } from "./videos-room.js";

/** The requests of this browser. Each is stored before it is sent, because it may be billed. */
const list = createImageOrders(storage);

/** The room for images. A request continues while another room is open. */
export function ImagesRoom() {
  const form = useImageForm();
  const videoForm = useVideoForm();
  const { model, values } = form;
  const request = createImageRequest(model, values);
  const { generate, stop, reset, orders, status, error, variables, submittedAt } = useImageOrders(
    list,
    model,
  );
  const button = useRef<HTMLButtonElement>(null);
  const isPending = status === "pending";
  const isUnsaved = list.useIsUnsaved();
  useLeaveWarning(isPending || isUnsaved);
  useRunningCode(isPending && "await generate(");

  const send = async (next: ImageRequest) => {
    button.current?.focus();
    await generate(next);
  };
  const listActions = ({ order, image: { url = "" } }: ShownImage) => [
    {
      label: "Vary",
      icon: <Shuffle aria-hidden />,
      onSelect: () => void send({ ...order.request, seed: Math.floor(Math.random() * 1_000_000) }),
    },
    {
      label: "Use as reference",
      icon: <ImagePlus aria-hidden />,
      onSelect: () => form.set("image", [...listURLs(values, "image"), url]),
    },
    {
      label: "Make a video",
      icon: <Clapperboard aria-hidden />,
      onSelect() {
        videoForm.fill({
          model: videoForm.model,
          values: { ...videoForm.values, prompt: order.request.prompt, first_frame: [url] },
        });
        openRoute("videos");
      },
    },
  ];

  return (
    <MediaPage
      title="Images"
      result="an image"
      form={form}
      onSend={() => void send(request)}
      isBusy={isPending}
      estimate={estimateCost(request, prices)}
      error={error}
      onDismiss={reset}
      button={button}
      isEmpty={orders.length === 0 && !isPending}
      createValues={(example) => createValues(example, model)}
    >
      {isUnsaved && <p role="status">Not everything is saved. Keep this page open.</p>}
      <ImageGallery
        orders={orders}
        list={list}
        pending={isPending ? { request: variables, since: submittedAt } : undefined}
        onStop={stop}
        onReuse={(next) => form.fill({ model: next.model, values: readImageRequest(next) })}
        onRetry={(next) => void send(next)}
        actions={listActions}
      />
    </MediaPage>
  );
}

/** The form of this room. It is the same wherever it is used. */
export function useImageForm() {
  return useMediaForm<ImageModel>({
    kind: "image",
    storage,
    initial: "gamma-image-5-0-260128",
    createForm: createImageForm,
    check({ model, values }) {
      const { issues, warnings } = checkRequest(createImageRequest(model, values));
      // the library warns of an empty prompt; here it is a mistake
      return [...issues, ...warnings.filter(({ rule }) => rule.endsWith("prompt-empty"))];
    },
  });
}

/** Returns the values of an example: its words, and the first size of its shape. */
function createValues({ prompt, ratio, count }: DemoPrompt, model: ImageModel): FormValues {
  const size = findField(createImageForm(model), "choice", "size")?.choices.find(
    (choice) => choice.ratio === ratio,
  );
  return {
    prompt,
    size: size?.value,
    max_images: count,
  };
}
