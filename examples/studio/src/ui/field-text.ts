import { type InputEvent, type RefObject, useLayoutEffect, useRef } from "react";

/**
 * Props of a field that shows a text and changes it. With `value`, React would write all of a long text into the page
 * again at each key.
 */
export function useFieldText(
  field: RefObject<HTMLTextAreaElement | null>,
  text: string,
  onText: (text: string) => void,
) {
  const shown = useRef("");
  useLayoutEffect(() => {
    if (!field.current || shown.current === text) return;
    field.current.setRangeText(text, 0, field.current.textLength, "end");
    shown.current = text;
  }, [field, text]);
  return {
    onInput({ currentTarget }: InputEvent<HTMLTextAreaElement>) {
      shown.current = currentTarget.value;
      onText(shown.current);
    },
  };
}
