import { useState } from "preact/hooks";

function CopyButton({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  const copy = (): void => {
    void navigator.clipboard?.writeText(text).then(
      () => setCopied(true),
      () => setCopied(false),
    );
  };
  return (
    <button type="button" class="quiet" onClick={copy} aria-label={`Copy: ${text}`}>
      {copied ? "Copied" : "Copy"}
    </button>
  );
}

/** The command line for the shown view. */
export function CopyCommand({ text }: { text: string }) {
  return (
    <span class="copy-command">
      <code>{text}</code> <CopyButton text={text} />
    </span>
  );
}

/** Commands to run, each with a button that copies it. */
export function Commands({ commands, title = "Commands" }: { commands: readonly string[]; title?: string }) {
  if (commands.length === 0) return null;
  return (
    <section class="commands" aria-label={title}>
      <h4>{title}</h4>
      <ul>
        {commands.map((text) => (
          <li key={text}>
            <code>{text}</code>
            <CopyButton text={text} />
          </li>
        ))}
      </ul>
    </section>
  );
}
