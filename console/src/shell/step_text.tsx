/** A step of a runbook: text between backticks is a command, or the name of another runbook. */

import { open } from "./route";

const NAME = /^[a-z]+\.[a-z_]+$/;

/** A sentence with command options: a line never breaks inside an option. */
export function Unbroken({ text }: { text: string }) {
  return (
    <>
      {text.split(/(--[\w-]+)/).map((part, at) =>
        at % 2 === 0 ? (
          part
        ) : (
          <span key={at} class="unbroken">
            {part}
          </span>
        ),
      )}
    </>
  );
}

export function StepText({ text }: { text: string }) {
  return (
    <>
      {text.split(/`([^`]+)`/).map((part, at) => {
        if (at % 2 === 0) return part;
        if (!NAME.test(part)) return <code key={at}>{part}</code>;
        return (
          <button key={at} type="button" class="link" onClick={() => open("runbook", part)}>
            {part}
          </button>
        );
      })}
    </>
  );
}
