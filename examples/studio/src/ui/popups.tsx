import { useStore } from "@nanostores/react";
import clsx from "clsx";
import { ChevronDown } from "lucide-react";
import { atom } from "nanostores";
import { type ComponentType, cloneElement, useState } from "react";
import type {
  DialogProps,
  MenuItem,
  MenuProps,
  PopoverProps,
  Trigger,
} from "../../../../labs/registry/components/sluice/popups.js";
import type { SelectProps } from "../../../../labs/registry/components/sluice/select.js";
import type { ToastOptions } from "../../../../labs/registry/components/sluice/toasts.js";
import { later } from "./later.js";

/*
 * Everything that opens above the page. The library behind it is half as large as React, so it is loaded when the
 * pointer or the focus comes near. Until its first press the trigger stands there alone.
 */

export type { MenuItem, Trigger };

/** Makes a popup that is loaded with the first press on its trigger, or when it is opened from elsewhere. */
function popup<Props extends { readonly trigger?: Trigger; readonly isOpen?: boolean }>(
  kind: "menu" | "dialog",
  load: () => Promise<ComponentType<Props & Pick<MenuProps, "defaultOpen">>>,
) {
  const Part = later(load);
  const preload = () => void Part.preload();
  function Popup(props: Props) {
    const { trigger, isOpen = false } = props;
    const [isPressed, setPressed] = useState(false);
    const standIn =
      trigger &&
      cloneElement(trigger, {
        "aria-haspopup": kind,
        "aria-expanded": false,
        onClick: () => setPressed(true),
        onPointerEnter: preload,
        onFocus: preload,
      });
    return <Part {...props} defaultOpen={isPressed} isNeeded={isPressed || isOpen} fallback={standIn} />;
  }
  return Object.assign(Popup, { preload });
}

const loadPopups = () => import("../../../../labs/registry/components/sluice/popups.js");

/** A list of actions behind a button. */
export const Menu = popup<MenuProps>("menu", async () => (await loadPopups()).Menu);

/** A small box of controls beside a button. */
export const Popover = popup<PopoverProps>("dialog", async () => (await loadPopups()).Popover);

/** A box above the page that has to be closed first. */
export const Dialog = popup<DialogProps>("dialog", async () => (await loadPopups()).Dialog);

/** A panel that slides in over the page, where the screen has no room for it beside. */
export function Sheet(props: DialogProps & Required<Pick<DialogProps, "side">>) {
  return <Dialog {...props} className="bg-surface!" />;
}

/** Look of a select that is still loading: that of the registry's. */
const selectLook =
  "inline-flex min-h-8 items-center justify-between gap-2 rounded-lg border border-input bg-card px-3 text-left text-sm disabled:opacity-50 pointer-coarse:min-h-11 pointer-coarse:min-w-11";

const LoadedSelect = later<SelectProps<string>>(
  async () => (await import("../../../../labs/registry/components/sluice/select.js")).Select,
);

/** One of several values, chosen from a list. */
export function Select<Value extends string>(props: SelectProps<Value>) {
  const { label, value, options, onChange, className } = props;
  const chosen = options.find((option) => option.value === value)?.label ?? "";
  return (
    <LoadedSelect
      {...props}
      // `later` forgets the type parameter
      onChange={(next) => {
        const option = options.find((one) => one.value === next);
        if (option) onChange(option.value);
      }}
      fallback={
        <button
          type="button"
          aria-label={label && `${label}: ${chosen}`}
          className={clsx(selectLook, className)}
          disabled
        >
          {chosen}
          <ChevronDown className="size-4" aria-hidden />
        </button>
      }
    />
  );
}

const loadToasts = () => import("../../../../labs/registry/components/sluice/toasts.js");

/** The place of the messages, above the place to write: its buttons stay within reach. */
const Place = later(async () => (await loadToasts()).Toasts, "none");

/** True from the first toast on: its place has to be there. */
const hasToasts = atom(false);

/** The messages of `toast`, where there was one, or where they may load now. */
export function Toasts({ isNeeded }: { readonly isNeeded: boolean }) {
  return <Place isNeeded={useStore(hasToasts) || isNeeded} className="bottom-28 short:bottom-4" />;
}

/** Shows a short message at the bottom of the page, with "Undo" where there is a way back. */
export function toast(title: string, options?: ToastOptions): void {
  hasToasts.set(true);
  loadToasts().then(
    (toasts) => toasts.toast(title, options),
    () => {
      // offline: what it would say is done all the same
    },
  );
}
