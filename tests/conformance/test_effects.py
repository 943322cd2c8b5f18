"""Cases of files and time hold in company: conditions are of the documents, lie over all effects, and are read back."""

from __future__ import annotations

import json
import os
import re

import pytest

from npu_conformance.backends.reference import ReferenceBackend
from npu_conformance.judging import judge
from npu_conformance.protocol import client, requests
from npu_conformance.strength.laws import effects
from tests.cases.corpus import corpus

#: The suite judged by whole runs of it: every night.
pytestmark = [pytest.mark.nightly, pytest.mark.not_oldest]

HERE = os.path.dirname(os.path.abspath(__file__))


@pytest.fixture(scope="module")
def shelf():
    return corpus()


@pytest.fixture(scope="module")
def kept(shelf):
    return effects.questions(shelf)


def claims():
    return judge.Claims.of(ReferenceBackend().hello({"protocol": 1}))


def readings():
    with open(os.path.join(HERE, "..", "..", "docs", "readings.md"), encoding="utf-8") as stream:
        return set(re.findall(r"^\| ([A-Z]\d+) \|", stream.read(), re.MULTILINE))


def asked(one, backend, folder):
    """The answer to a case under its conditions."""
    params = effects.asked_for(one.conditions, requests.prepare(one.instance, str(folder)).params, str(folder))
    answer = getattr(backend, one.instance.case.method)(params)
    return client.Answered(json.loads(json.dumps(answer)))


def test_every_effect_is_asked_under_every_condition_that_fits_it(shelf, kept):
    fit = {
        (effect, condition.name)
        for one in effects.usable(shelf)
        for condition in effects.fitting(effects.question(one))
        for effect in effects.effects(one)
    }
    shown = {(effect, name) for one in kept for effect in effects.effects(one.instance) for name in one.conditions}
    assert fit <= shown
    assert len(fit) > 1000
    assert {name for _, name in fit} == {one.name for one in effects.CONDITIONS}


def test_every_detail_is_asked_in_company(shelf, kept):
    details = {detail for one in effects.usable(shelf) for detail in effects.details(one)}
    assert details == {detail for one in kept for detail in effects.details(one.instance)}


SHADING = {one.name for one in effects.CONDITIONS if one.shading}


def fitting(one):
    return effects.fitting(effects.question(one))


@pytest.mark.parametrize("name", sorted(SHADING))
def test_every_detail_is_asked_under_what_shades_the_others(name, shelf, kept):
    """Each detail of files and time in another run mode, in mixed computing and after others; nearly all of methods."""

    def named(found):
        return {(one.case.method, detail) for one in found for detail in effects.details(one)}

    usable = [one for one in effects.usable(shelf) if one.case.method != "run"]
    fit = named(one for one in usable if name in {each.name for each in fitting(one)})
    shown = named(one.instance for one in kept if name in one.conditions)
    assert len(fit) > 50
    assert len(fit - shown) < 0.05 * len(fit)


def test_what_is_asked_beside_a_condition_that_shades_is_asked_without_any_too(shelf, kept):
    """Every surface and edition of a detail, under every condition that is laid over all of them."""
    plain = [one for one in kept if one.instance.case.method != "run" and not {*one.conditions} & (SHADING | HIDING)]
    by_name = {one.name: one for one in effects.CONDITIONS}

    def pairs(found):
        return {
            (detail, over) for one, names in found for detail in effects.details(one, finely=True) for over in names
        }

    def overs(conditions):
        return {one.over for one in conditions if one.over and not one.shading and not one.hiding}

    usable = [one for one in effects.usable(shelf) if one.case.method != "run"]
    fit = pairs((one, overs(fitting(one))) for one in usable)
    shown = pairs((one.instance, overs(by_name[name] for name in one.conditions)) for one in plain)
    assert len(fit) > 3000
    assert not fit - shown


def test_every_detail_of_files_is_asked_on_the_other_surface_too(shelf, kept):
    def named(one, conditions):
        return effects.details(one) if SURFACES & {*conditions} else set()

    fit = [(one, [each.name for each in effects.fitting(effects.question(one))]) for one in effects.usable(shelf)]
    details = {detail for one, conditions in fit for detail in named(one, conditions)}
    assert details == {detail for one in kept for detail in named(one.instance, one.conditions)}
    assert len(details) > 40


def test_a_question_has_one_condition_of_a_place_and_none_that_does_not_fit(kept):
    for one in kept:
        fitting = {condition.name: condition for condition in effects.fitting(effects.question(one.instance))}
        places = [place for name in one.conditions for place in fitting[name].places]
        assert len(places) == len(set(places)), one.instance.id


def test_conditions_name_requirements_and_readings_that_there_are(shelf):
    known = set(shelf.requirements) | readings()
    assert {source for one in effects.CONDITIONS for source in one.sources} - known == set()


def test_questions_stay_few(kept):
    # A run pays for each: twenty-five are a second, and ten that need TensorFlow are. Those that hide others have few
    # conditions, and cost half as much. Half of the others are asked as they are, the rest beside what shades them.
    runs = [one for one in kept if one.instance.case.method == "run"]
    hiding = [one for one in kept if one not in runs and {*one.conditions} & HIDING]
    assert len(kept) - len(runs) - len(hiding) < 725
    assert len(hiding) < 110
    assert 60 < len(runs) < 115


def test_another_seed_asks_other_cases_and_more_rounds_ask_all(shelf, kept):
    def pairs(questions):
        return {(one.instance.case.id, name) for one in questions for name in one.conditions}

    cases = {one.case.id for one in effects.usable(shelf)}
    other = effects.questions(shelf, seed=1)
    assert len(pairs(kept) | pairs(other)) > 1.1 * len(pairs(kept))
    rounds = effects.questions(shelf, rounds=3)
    assert rounds[: len(kept)] == kept
    assert {one.instance.case.id for one in rounds} == cases
    fit = {(one.case.id, each.name) for one in effects.usable(shelf) for each in effects.fitting(effects.question(one))}
    assert len(pairs(rounds) & fit) > 0.85 * len(fit), f"{len(pairs(rounds) & fit)} of {len(fit)}"


@pytest.mark.parametrize("name", [one.name for one in effects.CONDITIONS])
def test_a_condition_alone_leaves_a_case_as_it_is(name, kept, tmp_path):
    plain = (each for each in kept if each.instance.case.method != "run")
    one = next(each for each in plain if name in each.conditions)._replace(conditions=(name,))
    assert effects.fault(one, asked(one, ReferenceBackend(), tmp_path), claims()) == ""


class NoCacheBesideDebugging(ReferenceBackend):
    """The directory of the cache is not made where files of debugging have one."""

    def compile(self, params):
        answer = super().compile(params)
        if "debug_dir" in params["values"]:
            for turn in answer["turns"]:
                for key in ("files", "left"):
                    turn[key] = {name: file for name, file in turn.get(key, {}).items() if "kernel_cache" not in name}
        return answer


class ShortProfileInMixedComputing(ReferenceBackend):
    """A profile of mixed computing tells of no operator of the AI CPU."""

    def timeline(self, params):
        answer = super().timeline(params)
        if params["values"].get("mix_compile_mode"):
            for step in (answer["base"], *answer["variants"].values()):
                step["files"] = {name: file for name, file in step.get("files", {}).items() if "/aicpu" not in name}
        return answer


@pytest.mark.parametrize(
    "backend, case",
    [(NoCacheBesideDebugging(), "kernel-cache-.*-directory-made"), (ShortProfileInMixedComputing(), "profil.*")],
)
def test_an_effect_that_is_missing_in_company_is_seen(backend, case, kept, tmp_path):
    plain = [one for one in kept if one.instance.case.method != "run"]
    there = [one for one in plain if re.fullmatch(case, one.instance.case.id)]

    def fault(one):
        return effects.fault(one, asked(one, backend, tmp_path), claims())

    assert any(not fault(one._replace(conditions=())) and fault(one) for one in there)


SURFACES = {"by NPURunConfig", "by a session"}
HIDING = {one.name for one in effects.CONDITIONS if one.hiding}


def test_what_stands_beside_a_condition_that_hides_others_has_stood_without_it_too(shelf, kept):
    assert SURFACES < HIDING

    def shown(questions):
        return {
            (name, detail) for one in questions for name in one.conditions for detail in effects.details(one.instance)
        }

    plain = [one for one in kept if one.instance.case.method != "run"]
    alone = shown(one for one in plain if not HIDING & {*one.conditions})
    beside = {one for one in shown(plain) if one[0] not in HIDING}
    assert len(beside - alone) < 0.05 * len(beside)


def test_a_case_about_a_default_is_asked_without_it_and_with_it(kept):
    waits = [one for one in kept if one.instance.case.id == "timing-wait-by-default"]
    given = [[name for name in one.conditions if "default" in name] for one in waits]
    assert [] in given
    assert given.count(["the default that is shown, and others, given"]) == 1


def refusals(shelf, method):
    packs = [one.instance.case for one in effects.refused(shelf) if not one.instance.case.expect.rejected]
    return [one for one in packs if one.method == method]


def test_every_refusal_stands_in_a_later_program_and_those_without_files_in_a_later_step(shelf):
    programs, steps = refusals(shelf, "compile"), refusals(shelf, "timeline")
    packed = [case for one in effects.refused(shelf) for case, fact in one.refusals if fact]
    about = {case.case.expect.rejected[1] for case in packed}
    assert {"*precision_mode_v2*", "*op_debug_level*"} <= about
    assert len(about) > 60
    assert sum(len(one.params["turns"]) for one in programs) > 400
    assert sum(len(one.params["variants"]) for one in steps) > 180


class TakesLaterPrecisions(ReferenceBackend):
    """Programs after the first take any precision."""

    def compile(self, params):
        turns = []
        for number, turn in enumerate(params.get("turns") or [{}]):
            values = dict(turn.get("values") or {})
            if number and not isinstance(values.get("precision_mode_v2"), (str, type(None))):
                values["precision_mode_v2"] = None
            turns.append({**turn, "values": values})
        return super().compile({**params, "turns": turns})


def test_a_refusal_that_a_later_program_lacks_is_seen(shelf, tmp_path):
    packs = [one for one in effects.refused(shelf) if len(one.instance.case.params.get("turns") or ()) > 2]
    assert packs
    assert all(not effects.fault(one, asked(one, ReferenceBackend(), tmp_path), claims()) for one in packs)
    told = [effects.fault(one, asked(one, TakesLaterPrecisions(), tmp_path), claims()) for one in packs]
    assert any("rejected *" in one for one in told)


def lay(name, **params):
    given = {"surface": "runconfig", "edition": "current", "values": {}, **params}
    return effects.asked_for([name], given)


def test_other_names_hold_for_options_files_turns_and_damage():
    found = lay(
        "names of every kind of character",
        values={"op_compiler_cache_dir": "/home/test/k", "work_path": "w"},
        files={"/home/test/k/op_cache.ini": "", "/home/other": ""},
        turns=[{"damage": [{"files": "home/test/k/*.o", "how": "cut"}]}],
    )
    assert found["values"] == {"op_compiler_cache_dir": "/Named_by-003.x/home/test/k", "work_path": "w"}
    assert set(found["files"]) == {"/Named_by-003.x/home/test/k/op_cache.ini", "/home/other"}
    assert found["turns"][0]["damage"] == [{"files": "Named_by-003.x/home/test/k/*.o", "how": "cut"}]


def test_a_relative_name_is_one_for_its_file_too():
    found = lay("relative names", values={"op_debug_config": "/cfg/d.cfg"}, files={"/cfg/d.cfg": "", "/cfg/e": ""})
    assert found["values"] == {"op_debug_config": "cfg/d.cfg"}
    assert set(found["files"]) == {"cfg/d.cfg", "/cfg/e"}


def test_the_output_of_a_profile_is_a_path_as_others_are():
    text = json.dumps({"output": "/tmp/p", "task_trace": "on"})
    found = lay("slashes at the end", values={"profiling_options": text})
    assert json.loads(found["values"]["profiling_options"]) == {"output": "/tmp/p/", "task_trace": "on"}


def test_lines_are_turned_round_below_their_section():
    found = lay("another order", files={"/k/op_cache.ini": "# note\n[op_compiler_cache]\na=1\nb=2\n"})
    assert found["files"]["/k/op_cache.ini"] == "# note\n[op_compiler_cache]\nb=2\na=1\n"


def test_the_other_surface_has_what_a_session_gives_as_arguments_of_objects():
    text = '{"output": "/tmp/p", "task_trace": "on"}'
    given = {"surface": "session", "values": {"profiling_mode": True}, "variants": {"off": {"profiling_options": text}}}
    found = lay("by NPURunConfig", **given)
    assert (found["surface"], found["values"]["enable_data_pre_proc"]) == ("runconfig", False)
    assert found["values"]["profiling_config"]["arguments"] == {"enable_profiling": True}
    assert found["variants"]["off"]["profiling_config"] == {
        "class": "ProfilingConfig",
        "arguments": {"enable_profiling": True, "profiling_options": text},
    }
    back = effects.asked_for(["by a session"], found)
    assert back["values"] == {"enable_data_pre_proc": False, "profiling_mode": True}
    assert back["variants"]["off"]["profiling_options"] == text


def test_nothing_of_document_003_alone_is_laid_on_the_other_surface(kept):
    moved = [set(one.conditions) for one in kept if SURFACES & set(one.conditions)]
    assert len(moved) > 30
    alone = {"fusion results at once", "no fusion results", "weights in files", "tuning"}
    assert all(alone.isdisjoint(conditions) for conditions in moved)


def test_steps_before_leave_the_values_of_each_variant():
    found = lay("steps before", values={"a": 1, "b": 2}, variants={"off": {"a": None}})
    assert found["values"] == {}
    assert found["variants"] == {
        "company-first": {"a": 1, "b": 2},
        "company": {"a": 1, "b": 2},
        "off": {"a": None, "b": 2},
    }


def test_white_space_changes_no_entry_of_a_file():
    found = lay("white space in files", files={"/a.json": '{"b": [1, 2]}', "/c.cfg": "d = e,f\ng = h", "/i": "j\n"})
    assert json.loads(found["files"]["/a.json"]) == {"b": [1, 2]}
    assert "\r\n\t" in found["files"]["/a.json"]
    assert found["files"]["/c.cfg"] == "\nd = e,f \t\n\ng = h \t\n\n"
    assert found["files"]["/i"] == "j\n"


class ForgetsSwitchesInTraining(ReferenceBackend):
    """Where the host computes nothing in training, a file of fusion switches is not read where it is deterministic."""

    def compile(self, params):
        laid = [params["values"], *(turn.get("values") or {} for turn in params.get("turns", ()))]
        values = {name: one for each in laid for name, one in each.items()}
        trains = values.get("graph_run_mode", 1) == 1 and not values.get("mix_compile_mode")
        if trains and values.get("deterministic") == 1:
            first, *rest = [{**each, "fusion_switch_file": None} for each in laid]
            turns = [{**turn, "values": one} for turn, one in zip(params.get("turns", ()), rest)]
            first.pop("fusion_switch_file")
            params = {**params, "values": first, **({"turns": turns} if turns else {})}
        return super().compile(params)


def test_a_mistake_that_mixed_computing_and_inference_hide_is_seen(kept, tmp_path):
    there = [one for one in kept if "compile files.fusion_switch" in effects.effects(one.instance)]

    def fault(one, backend):
        return effects.fault(one, asked(one, backend, tmp_path), claims())

    seen = [one for one in there if fault(one, ForgetsSwitchesInTraining()) and not fault(one, ReferenceBackend())]
    assert any("deterministic computing" in one.conditions for one in seen)


class LostOnTheOtherSurface(ReferenceBackend):
    """NPURunConfig leaves no profile."""

    def timeline(self, params):
        answer = super().timeline(params)
        if params["surface"] == "runconfig":
            answer["base"]["files"] = {
                name: file for name, file in answer["base"].get("files", {}).items() if "PROF_" not in name
            }
        return answer


class ProfilesOneStep(ReferenceBackend):
    """What is given after the first step of a process is profiled no more."""

    def timeline(self, params):
        answer = super().timeline(params)
        for step in list(answer.get("variants", {}).values())[1:]:
            step["files"] = {name: file for name, file in step.get("files", {}).items() if "PROF_" not in name}
        return answer


@pytest.mark.parametrize(
    "backend, name", [(LostOnTheOtherSurface(), "by NPURunConfig"), (ProfilesOneStep(), "steps before")]
)
def test_an_effect_that_is_lost_under_a_condition_is_seen(backend, name, kept, tmp_path):
    """Profiles of what the documents give on both surfaces, in every step."""

    def faults(one):
        return effects.fault(one, asked(one, backend, tmp_path), claims())

    laid = [one for one in kept if name in one.conditions and "profil" in one.instance.id]
    assert any(not faults(one._replace(conditions=())) and faults(one) for one in laid)
