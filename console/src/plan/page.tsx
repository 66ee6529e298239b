import { useEffect, useState } from "preact/hooks";
import type { PlanView } from "../api";
import { ask, connection, whyFailed } from "../live/session";
import { Curve } from "../shell/curve";
import { go, open, route } from "../shell/route";
import { Table, View } from "../shell/view";
import { Field } from "./controls";
import { QUESTIONS, asked, query, type Question } from "./questions";

const PAUSE_MILLISECONDS = 120;

interface Latest {
  answer: PlanView | null;
  trouble: string;
}

/** The last answer stays until the next arrives. */
function useAnswer(name: string, asking: string): Latest {
  const [latest, setLatest] = useState<Latest>({ answer: null, trouble: "" });
  const live = connection.value.kind === "live";
  useEffect(() => {
    let left = false;
    const timer = setTimeout(() => {
      ask()
        .plan(name, asking)
        .then((answer) => !left && setLatest({ answer, trouble: "" }))
        .catch((error: unknown) => !left && setLatest(({ answer }) => ({ answer, trouble: whyFailed(error) })));
    }, PAUSE_MILLISECONDS);
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [name, asking, live]);
  return latest;
}

function Controls({ question, values }: { question: Question; values: Readonly<Record<string, string>> }) {
  const change = (name: string, text: string): void => go({ asked: { ...route.value.asked, [name]: text } });
  const field = (control: Question["controls"][number]) => (
    <Field key={control.name} control={control} value={values[control.name] ?? ""} onChange={(text) => change(control.name, text)} />
  );
  const given = route.value.asked;
  const more = question.controls.filter((control) => control.more);
  return (
    <form class="controls" aria-label="Inputs" onSubmit={(event) => event.preventDefault()}>
      {question.controls.filter((control) => !control.more).map(field)}
      {more.length > 0 && (
        <details open={more.some(({ name }) => given[name])}>
          <summary>More inputs</summary>
          {more.map(field)}
        </details>
      )}
      {Object.keys(given).length > 0 && (
        <button type="button" onClick={() => go({ asked: {} })}>
          Reset
        </button>
      )}
    </form>
  );
}

function Answered({ answer, stale }: { answer: PlanView; stale: boolean }) {
  const { chart } = answer;
  return (
    <div class={stale ? "answer stale" : "answer"}>
      <p class="headline" role="status">
        {answer.headline}
      </p>
      <Curve title={chart.title} across={chart.across} up={chart.up} lines={chart.lines} logX={chart.log_x} mark={chart.mark} />
      <Table heads={["Result", "Value"]}>
        {answer.figures.map((one) => (
          <tr key={one.name}>
            <th scope="row">{one.name}</th>
            <td>{one.shown}</td>
          </tr>
        ))}
      </Table>
      {answer.sensitivities.length > 0 && (
        <Table heads={[`What matters most for ${answer.sensitivity_of}`, "If halved", "If doubled"]}>
          {answer.sensitivities.map((one) => (
            <tr key={one.name}>
              <th scope="row">{one.name}</th>
              <td class="number">{one.halved}</td>
              <td class="number">{one.doubled}</td>
            </tr>
          ))}
        </Table>
      )}
      {answer.notes.map((note) => (
        <p key={note} class="faint">
          {note}
        </p>
      ))}
      <details>
        <summary>Inputs and sources</summary>
        <Table heads={["Input", "Value", "Source"]}>
          {answer.inputs.map((one) => (
            <tr key={one.name}>
              <th scope="row">{one.name}</th>
              <td>{one.shown}</td>
              <td class="faint">{one.source}</td>
            </tr>
          ))}
        </Table>
      </details>
    </div>
  );
}

export function PlanPage() {
  const question = QUESTIONS.find((one) => one.name === route.value.item) ?? QUESTIONS[0]!;
  const values = asked(question, route.value.asked);
  const { answer, trouble } = useAnswer(question.name, query(values));
  const fits = answer?.plan === question.name;
  return (
    <View title="Plan">
      <div class="tabs" role="group" aria-label="Calculators">
        {QUESTIONS.map((one) => (
          <button key={one.name} type="button" aria-pressed={one === question} onClick={() => open("plan", one.name)}>
            {one.title}
          </button>
        ))}
      </div>
      <p class="lead">{question.about} The address of this page contains the inputs, so you can share it.</p>
      <div class="plan">
        <Controls key={question.name} question={question} values={{ ...values, ...route.value.asked }} />
        <div>
          {trouble && (
            <p class="trouble" role="alert">
              No answer: {trouble}
            </p>
          )}
          {answer && fits && <Answered answer={answer} stale={trouble !== ""} />}
          {!fits && !trouble && <p class="empty">Computing …</p>}
        </div>
      </div>
    </View>
  );
}
