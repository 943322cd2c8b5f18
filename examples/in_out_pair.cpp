// A backend in C++17 and nothing but its standard library: the options that select ranges (in_out_pair).
//     c++ -std=c++17 -O1 -o in_out_pair examples/in_out_pair.cpp
//     npu-conformance run --backend exec:./in_out_pair
//
// It claims the area in_out_pair with the method options alone, so that only those cases are asked.

#include <cctype>
#include <cstdlib>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>

// JSON, as much as the protocol needs: values keep their text, and objects their members.
struct Json {
    char kind = 'n';  // n null, b bool, # number, s string, a array, o object
    std::string text;
    std::map<std::string, Json> members;
    bool has(const std::string& name) const { return members.count(name) != 0; }
    const Json& at(const std::string& name) const { return members.at(name); }
};

class Reader {
  public:
    explicit Reader(const std::string& line) : line_(line) {}
    Json whole() {
        Json value = read(0);
        if (blanks(), at_ != line_.size()) fail();
        return value;
    }

  private:
    const std::string& line_;
    size_t at_ = 0;
    [[noreturn]] void fail() const { throw std::runtime_error("no JSON at character " + std::to_string(at_)); }
    char peek() const { return at_ < line_.size() ? line_[at_] : '\0'; }
    void blanks() { while (at_ < line_.size() && std::string(" \t\r\n").find(line_[at_]) != std::string::npos) ++at_; }
    void expect(char wanted) { blanks(); if (peek() != wanted) fail(); ++at_; }
    bool take(char wanted) { blanks(); if (peek() != wanted) return false; ++at_; return true; }
    Json read(int depth) {
        if (depth > 64) fail();
        blanks();
        Json value;
        if (take('{')) {
            value.kind = 'o';
            if (take('}')) return value;
            do {
                std::string name = (blanks(), string());
                expect(':'), value.members[name] = read(depth + 1);
            } while (take(','));
            expect('}');
        } else if (take('[')) {
            value.kind = 'a';
            if (take(']')) return value;
            do read(depth + 1); while (take(','));  // no list is needed here
            expect(']');
        } else if (peek() == '"') {
            value.kind = 's', value.text = string();
        } else {
            size_t begin = at_;
            while (at_ < line_.size() && std::string(",:]} \t\r\n").find(line_[at_]) == std::string::npos) ++at_;
            value.text = line_.substr(begin, at_ - begin);
            if (value.text == "true" || value.text == "false") value.kind = 'b';
            else if (value.text.empty()) fail();
            else if (value.text != "null") value.kind = '#', number(value.text);
        }
        return value;
    }
    void number(const std::string& text) const {
        char* end = nullptr;
        if (std::strtod(text.c_str(), &end), *end != '\0' || !std::isdigit(text.back())) fail();
    }
    std::string string() {
        expect('"');
        std::string found;
        while (peek() != '"') {
            if (at_ >= line_.size()) fail();
            char one = line_[at_++];
            if (one != '\\') { found += one; continue; }
            one = line_[at_++];
            const std::string names = "\"\\/bfnrt", signs = "\"\\/\b\f\n\r\t";
            if (one == 'u' && at_ + 4 <= line_.size()) { unicode(found), at_ += 4; continue; }
            if (names.find(one) == std::string::npos) fail();
            found += signs[names.find(one)];
        }
        return ++at_, found;
    }
    void unicode(std::string& found) {  // halves of a pair become two characters, which nobody here looks at
        unsigned long code = std::stoul(line_.substr(at_, 4), nullptr, 16);
        if (code < 0x80) found += char(code);
        else if (code < 0x800) found += char(0xC0 | code >> 6), found += char(0x80 | (code & 63));
        else found += char(0xE0 | code >> 12), found += char(0x80 | (code >> 6 & 63)), found += char(0x80 | (code & 63));
    }
};

std::string quoted(const std::string& text) {
    std::string made = "\"";
    const char* digits = "0123456789abcdef";
    for (unsigned char one : text) {
        if (one == '"' || one == '\\') made += '\\', made += char(one);
        else if (one < 0x20) made += std::string("\\u00") + digits[one >> 4] + digits[one & 15];
        else made += char(one);
    }
    return made + '"';
}

struct Refused { std::string code, subject, message; };

// [[[in, ...], [out, ...]], ...]: names in quotes, no list empty.
class Ranges {
  public:
    explicit Ranges(const std::string& text) : text_(text) {
        list([this] { expect('['), names(), expect(','), names(), expect(']'); });
        if (blanks(), at_ != text_.size()) fail();
    }

  private:
    const std::string& text_;
    size_t at_ = 0;
    [[noreturn]] static void fail() { throw Refused{"OPTION_SYNTAX", "in_out_pair", "is not [[[in, ...], [out, ...]], ...]"}; }
    void blanks() { while (at_ < text_.size() && text_[at_] == ' ') ++at_; }
    bool take(char wanted) { blanks(); return at_ < text_.size() && text_[at_] == wanted && ++at_; }
    void expect(char wanted) { if (!take(wanted)) fail(); }
    template <typename Part> void list(Part part) {
        expect('[');
        do part(); while (take(','));
        expect(']');
    }
    void names() {
        list([this] {
            char quote = take('\'') ? '\'' : '"';
            if (quote == '"') expect('"');
            size_t end = text_.find(quote, at_);
            if (end == std::string::npos || end == at_) fail();
            at_ = end + 1;
        });
    }
};

// The value of an option, in the kind it must have; its default where it is not given.
Json option(const Json& values, const std::string& name, char kind, const std::string& otherwise) {
    if (!values.has(name)) return Json{kind, otherwise, {}};
    Json value = values.at(name);
    const std::string field(1, kind == '#' ? 'i' : kind);
    if (value.kind == 'o' && value.has("field") && value.has("value")) {
        if (value.at("field").text != field) throw Refused{"OPTION_TYPE", name, "stands in another field than ." + field};
        value = Json(value.at("value"));
    }
    if (value.kind != kind) throw Refused{"OPTION_TYPE", name, "must stand in the field ." + field};
    return value;
}

std::string options(const Json& values) {
    std::string told, warnings;
    auto tell = [&](const std::string& name, const Json& value) {
        told += (told.empty() ? "" : ", ") + quoted(name) + ": {\"value\": " +
                (value.kind == 's' ? quoted(value.text) : value.text) + ", \"origin\": \"" +
                (values.has(name) ? "given" : "default") + "\"}";
    };
    Json mixed = option(values, "mix_compile_mode", 'b', "false"), mode = option(values, "graph_run_mode", '#', "1");
    tell("mix_compile_mode", mixed), tell("graph_run_mode", mode);
    tell("in_out_pair_flag", option(values, "in_out_pair_flag", 'b', "true"));
    if (values.has("in_out_pair")) {
        Json pair = option(values, "in_out_pair", 's', "");
        Ranges checked(pair.text);
        if (mixed.text != "true") throw Refused{"OPTION_CONFLICT", "in_out_pair", "needs mix_compile_mode"};
        if (mode.text != "0") warnings = R"({"option": "in_out_pair", "code": "not_in_scenario"})";
        tell("in_out_pair", pair);
    }
    return "{\"effective\": {" + told + "}, \"warnings\": [" + warnings + "]}";
}

std::string answer(const std::string& line, bool& done) {
    std::string begin = "{\"id\": null, ";
    try {
        Json request = Reader(line).whole();
        if (request.has("id") && request.at("id").kind == '#') begin = "{\"id\": " + request.at("id").text + ", ";
        if (request.kind != 'o' || !request.has("method")) throw std::runtime_error("no request");
        const std::string method = request.at("method").text;
        done = method == "shutdown";
        if (method == "hello")
            return begin + R"("ok": {"protocol": 1, "backend": {"name": "in_out_pair", "version": "1"}, "capabilities": )" +
                   R"({"areas": ["in_out_pair"], "editions": ["current"], "features": ["options"]}}})";
        if (method == "options") return begin + "\"ok\": " + options(request.at("params").at("values")) + "}";
        if (done || method == "reset") return begin + "\"ok\": {}}";
        return begin + "\"unsupported\": {\"feature\": " + quoted(method) + "}}";
    } catch (const Refused& no) {
        return begin + "\"rejected\": {\"code\": " + quoted(no.code) + ", \"subject\": " + quoted(no.subject) +
               ", \"message\": " + quoted(no.message) + "}}";
    } catch (const std::exception& error) {
        return begin + "\"error\": {\"message\": " + quoted(error.what()) + "}}";
    }
}

int main() {
    std::string line;
    for (bool done = false; !done && std::getline(std::cin, line);)
        if (line.find_first_not_of(" \t\r") != std::string::npos) std::cout << answer(line, done) << std::endl;
}
